import { dropped, refused, same, type KeyTable } from '../verdicts.ts';
import { FRAGMENT, SOURCE, TUNING } from './reasons.ts';

const BY_PROGRAM = refused('Weir does not know which program a flow comes from');
const BY_SYSTEM = refused('Weir does not know the network that the machine is in');
const BY_SOURCE_PORT = refused("Weir has no condition on the client's port");
const NEW_DESTINATION = refused('another destination than that of the flow is not supported');

/** Keys of sing-box's route rules (`option/rule.go`, `rule_action.go`, 7df171f) that are not carried over. */
export const SING_BOX_RULE_KEYS: KeyTable = {
  auth_user: refused('Weir has no condition on the account of the client'),
  protocol: refused('Weir has no condition on the protocol inside of a flow'),
  client: refused('Weir has no condition on the program of the client'),
  source_geoip: refused("Weir has no lists for the client's address; write source_cidr"),
  source_port: BY_SOURCE_PORT,
  source_port_range: BY_SOURCE_PORT,
  process_name: BY_PROGRAM,
  process_path: BY_PROGRAM,
  process_path_regex: BY_PROGRAM,
  package_name: BY_PROGRAM,
  user: BY_PROGRAM,
  user_id: BY_PROGRAM,
  network_type: BY_SYSTEM,
  network_is_expensive: BY_SYSTEM,
  network_is_constrained: BY_SYSTEM,
  wifi_ssid: BY_SYSTEM,
  wifi_bssid: BY_SYSTEM,
  interface_address: BY_SYSTEM,
  network_interface_address: BY_SYSTEM,
  default_interface_address: BY_SYSTEM,
  source_mac_address: refused("Weir does not know the client's MAC address"),
  source_hostname: refused("Weir does not know the client's host name"),
  preferred_by: refused('Weir has no outbounds that prefer destinations'),
  rule_set_ip_cidr_match_source: refused("Weir has no lists for the client's address"),
  rule_set_ipcidr_match_source: refused("Weir has no lists for the client's address"),

  override_address: NEW_DESTINATION,
  override_port: NEW_DESTINATION,
  network_strategy: SOURCE,
  fallback_network_type: SOURCE,
  fallback_delay: TUNING,
  udp_disable_domain_unmapping: same(),
  udp_connect: TUNING,
  udp_timeout: TUNING,
  tls_fragment: FRAGMENT,
  tls_fragment_fallback_delay: FRAGMENT,
  tls_record_fragment: FRAGMENT,
  method: dropped('flows are closed, without a reset or a reply of their own'),
  no_drop: same(),

  // Options of the action `direct`.
  bind_interface: SOURCE,
  inet4_bind_address: SOURCE,
  inet6_bind_address: SOURCE,
  routing_mark: SOURCE,
  reuse_addr: TUNING,
  connect_timeout: TUNING,
  tcp_fast_open: TUNING,
  tcp_multi_path: TUNING,
  udp_fragment: TUNING,
  domain_strategy: dropped('write `address_family` of an outbound of its own'),
};
