import type { KeyTable } from '../verdicts.ts';
import { SOURCE, TUNING } from './reasons.ts';

/** Dial fields, which sing-box's outbounds and DNS servers have in common. */
export const DIALER_KEYS = {
  bind_interface: SOURCE,
  inet4_bind_address: SOURCE,
  inet6_bind_address: SOURCE,
  bind_address_no_port: SOURCE,
  protect_path: SOURCE,
  routing_mark: SOURCE,
  netns: SOURCE,
  network_strategy: SOURCE,
  network_type: SOURCE,
  fallback_network_type: SOURCE,
  fallback_delay: TUNING,
  reuse_addr: TUNING,
  connect_timeout: TUNING,
  tcp_fast_open: TUNING,
  tcp_multi_path: TUNING,
  disable_tcp_keep_alive: TUNING,
  tcp_keep_alive: TUNING,
  tcp_keep_alive_interval: TUNING,
  udp_fragment: TUNING,
} as const satisfies KeyTable;
