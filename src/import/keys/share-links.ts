import { keyTable } from '../verdicts.ts';
import {
  ALPN,
  BANDWIDTH,
  ECH,
  FINGERPRINT,
  FRAGMENT,
  MULTIPLEX,
  TUNING,
  VERIFIED_NAME,
} from './reasons.ts';

/**
 * Parameters of share links, and keys of v2rayN's JSON, that are not carried over
 * (XTLS/Xray-core discussion 716; v2rayN's wiki; hysteria's URI scheme).
 */
export const LINK_KEYS = keyTable({
  // Pins are read only with TLS. From `pbk` on: parameters of REALITY, which is refused as such, and of unused
  // transports. `packetEncoding` is about UDP, which Weir sends in a separate stream.
  same: `
    pcs pinSHA256 pbk sid spx pqv headerType seed quicSecurity key extra packetEncoding udp
    group remarks v ps`,
  when: {
    mode: (value) => value === 'gun',
  },
  refused: {
    [ECH]: 'ech',
  },
  dropped: {
    [FINGERPRINT]: 'fp',
    [ALPN]: 'alpn',
    [VERIFIED_NAME]: 'vcn',
    [FRAGMENT]: 'fragment',
    [MULTIPLEX]: 'mux',
    [BANDWIDTH]: 'up down upmbps downmbps',
    [TUNING]: 'fastopen tfo',
  },
});
