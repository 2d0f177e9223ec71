import { dropped, refused, same, type KeyTable } from '../verdicts.ts';
import {
  ALPN,
  BANDWIDTH,
  CLIENT_CERTIFICATE,
  ECH,
  HEADERS,
  SERVER_MULTIPLEX,
  SOURCE,
  TLS_VERSIONS,
  TUNING,
} from './reasons.ts';

const CAPTURE = dropped('the device takes what `routes` lead into it; see docs/tun.md');
const NO_LIST = dropped('write the networks themselves as `routes`');

/** Keys of sing-box's inbounds (`option/inbound.go` and those of each type, 7df171f) that are not carried over. */
export const SING_BOX_INBOUND_KEYS: KeyTable = {
  detour: refused('another inbound takes its connections, which Weir cannot do'),
  bind_interface: dropped('bind to an address of the interface by `listen`'),
  routing_mark: SOURCE,
  netns: refused('another network namespace is not supported'),
  reuse_addr: same(),
  disable_tcp_keep_alive: TUNING,
  tcp_keep_alive: TUNING,
  tcp_keep_alive_interval: TUNING,
  tcp_fast_open: TUNING,
  tcp_multi_path: TUNING,
  udp_fragment: TUNING,
  udp_timeout: TUNING,
  proxy_protocol: refused('the PROXY protocol is not supported'),
  proxy_protocol_accept_no_header: same(),
  sniff_override_destination: dropped(
    'rules see the sniffed name; the flow still goes to the address',
  ),
  sniff_timeout: TUNING,
  udp_disable_domain_unmapping: same(),

  set_system_proxy: dropped('the settings of the desktop are yours to make'),
  domain_resolver: dropped('names are resolved by [dns]'),

  network: dropped('TCP and UDP are served'),
  multiplex: SERVER_MULTIPLEX,
  managed: refused('users that another program manages are not supported'),
  destinations: refused('a relay to other Shadowsocks servers is not supported'),
  fallback: dropped('connections of others than users are closed'),
  fallback_for_alpn: dropped('connections of others than users are closed'),

  up_mbps: BANDWIDTH,
  down_mbps: BANDWIDTH,
  ignore_client_bandwidth: BANDWIDTH,
  masquerade: dropped('others than users get 404; write `masquerade` for another page'),
  brutal_debug: TUNING,

  // The name that clients request; a server has one certificate.
  'tls.server_name': same(),
  'tls.insecure': same(),
  'tls.alpn': ALPN,
  'tls.min_version': TLS_VERSIONS,
  'tls.max_version': TLS_VERSIONS,
  'tls.cipher_suites': TLS_VERSIONS,
  'tls.curve_preferences': TLS_VERSIONS,
  'tls.client_authentication': CLIENT_CERTIFICATE,
  'tls.client_certificate': CLIENT_CERTIFICATE,
  'tls.client_certificate_path': CLIENT_CERTIFICATE,
  'tls.client_certificate_public_key_sha256': CLIENT_CERTIFICATE,
  'tls.kernel_tx': TUNING,
  'tls.kernel_rx': TUNING,
  'tls.ech': ECH,

  'transport.host': HEADERS,
  'transport.method': same(),
  'transport.headers.*': HEADERS,
  'transport.headers': HEADERS,
  'transport.max_early_data': same(),
  'transport.early_data_header_name': same((value) => value === 'Sec-WebSocket-Protocol'),
  'transport.idle_timeout': TUNING,
  'transport.ping_timeout': TUNING,
  'transport.permit_without_stream': TUNING,

  iproute2_table_index: CAPTURE,
  iproute2_rule_index: CAPTURE,
  auto_redirect: CAPTURE,
  auto_redirect_input_mark: CAPTURE,
  auto_redirect_output_mark: CAPTURE,
  auto_redirect_reset_mark: CAPTURE,
  auto_redirect_nfqueue: CAPTURE,
  auto_redirect_iproute2_fallback_rule_index: CAPTURE,
  exclude_mptcp: CAPTURE,
  loopback_address: dropped('flows to an address of the device go where other flows go'),
  strict_route: CAPTURE,
  route_address_set: NO_LIST,
  route_exclude_address_set: NO_LIST,
  route_exclude_address: dropped(
    'these addresses enter the device too; write `routes` without them',
  ),
  inet4_route_exclude_address: dropped(
    'these addresses enter the device too; write `routes` without them',
  ),
  inet6_route_exclude_address: dropped(
    'these addresses enter the device too; write `routes` without them',
  ),
  include_interface: CAPTURE,
  exclude_interface: CAPTURE,
  include_uid: CAPTURE,
  include_uid_range: CAPTURE,
  exclude_uid: CAPTURE,
  exclude_uid_range: CAPTURE,
  include_android_user: CAPTURE,
  include_package: CAPTURE,
  exclude_package: CAPTURE,
  include_mac_address: CAPTURE,
  exclude_mac_address: CAPTURE,
  stack: dropped("the device has Weir's own TCP/IP stack"),
  platform: same(),
  gso: same(),
  endpoint_independent_nat: same(),
};

/** Keys of users that are not carried over: none, since all of them are read. */
export const SING_BOX_USER_KEYS: KeyTable = {};
