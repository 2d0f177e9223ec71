import { same, type KeyTable } from '../verdicts.ts';
import { HEADERS, TUNING } from './reasons.ts';

/** Stream settings that Xray's inbounds and outbounds have in common. */
export const STREAM_KEYS = {
  'streamSettings.grpcSettings.idle_timeout': TUNING,
  'streamSettings.grpcSettings.health_check_timeout': TUNING,
  'streamSettings.grpcSettings.permit_without_stream': TUNING,
  'streamSettings.grpcSettings.initial_windows_size': TUNING,
  'streamSettings.grpcSettings.user_agent': HEADERS,
  // Settings of unused transports.
  'streamSettings.xhttpSettings': same(),
  'streamSettings.splithttpSettings': same(),
  'streamSettings.kcpSettings': same(),
  'streamSettings.httpupgradeSettings': same(),
  'streamSettings.hysteriaSettings': same(),
  'streamSettings.httpSettings': same(),
  'streamSettings.quicSettings': same(),
  'streamSettings.dsSettings': same(),
} as const satisfies KeyTable;
