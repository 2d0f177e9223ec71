import { same, dropped, refused, type KeyTable } from '../verdicts.ts';
import {
  ALPN,
  BANDWIDTH,
  CHAINED,
  CLIENT_CERTIFICATE,
  ECH,
  FINGERPRINT,
  FRAGMENT,
  HEADERS,
  MULTIPLEX,
  NO_RESOLVER,
  ONE_NETWORK,
  TLS_VERSIONS,
  TUNING,
  UDP_OVER_TCP,
} from './reasons.ts';
import { DIALER_KEYS } from './sing-box-dialer.ts';

/** Keys of sing-box's outbounds and endpoints (`option/*.go`, 7df171f) that are not carried over. */
export const SING_BOX_KEYS: KeyTable = {
  detour: CHAINED,
  ...DIALER_KEYS,
  'domain_resolver.server': NO_RESOLVER,
  'domain_resolver.disable_cache': NO_RESOLVER,
  'domain_resolver.rewrite_ttl': NO_RESOLVER,
  'domain_resolver.client_subnet': NO_RESOLVER,

  network: ONE_NETWORK,
  multiplex: MULTIPLEX,
  udp_over_tcp: UDP_OVER_TCP,
  // Without effect, because plugins are refused.
  plugin_opts: same(),
  // The encoding of UDP in VLESS and VMess: Weir sends it in a separate stream, which every server
  // accepts.
  packet_encoding: same(),
  global_padding: dropped('padding is added as the options of the protocol say'),
  authenticated_length: same(),
  version: same((value) => value === '5'),

  up_mbps: BANDWIDTH,
  down_mbps: BANDWIDTH,
  brutal_debug: TUNING,
  hop_interval: same(),

  path: refused('a path of the HTTP proxy is not supported'),
  headers: HEADERS,

  override_address: refused('another destination than that of the flow is not supported'),
  override_port: refused('another destination than that of the flow is not supported'),
  proxy_protocol: refused('the PROXY protocol is not supported'),

  'tls.disable_sni': dropped('the server name is sent, unless it is an IP address'),
  'tls.alpn': ALPN,
  'tls.min_version': TLS_VERSIONS,
  'tls.max_version': TLS_VERSIONS,
  'tls.cipher_suites': TLS_VERSIONS,
  'tls.curve_preferences': TLS_VERSIONS,
  'tls.client_certificate': CLIENT_CERTIFICATE,
  'tls.client_certificate_path': CLIENT_CERTIFICATE,
  'tls.client_key': CLIENT_CERTIFICATE,
  'tls.client_key_path': CLIENT_CERTIFICATE,
  'tls.fragment': FRAGMENT,
  'tls.fragment_fallback_delay': FRAGMENT,
  'tls.record_fragment': FRAGMENT,
  'tls.kernel_tx': TUNING,
  'tls.kernel_rx': TUNING,
  'tls.ech': ECH,
  'tls.utls': FINGERPRINT,
  'tls.reality.public_key': same(),
  'tls.reality.short_id': same(),

  'transport.headers.*': HEADERS,
  'transport.idle_timeout': TUNING,
  'transport.ping_timeout': TUNING,
  'transport.permit_without_stream': TUNING,

  amnezia: refused('AmneziaWG is not supported'),
  system: dropped('the tunnel has a TCP/IP stack of its own and no interface'),
  name: dropped('the tunnel has a TCP/IP stack of its own and no interface'),
  system_interface: dropped('the tunnel has a TCP/IP stack of its own and no interface'),
  interface_name: dropped('the tunnel has a TCP/IP stack of its own and no interface'),
  gso: same(),
  listen_port: dropped('the tunnel leaves by a port that the kernel chooses'),
  udp_timeout: TUNING,
  workers: TUNING,
};
