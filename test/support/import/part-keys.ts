/*
 * The keys of rules, inbounds and DNS that other programs have, as the JSON tags of the structures
 * named: sing-box 7df171f, Xray 2323273.
 */

/** `RawDefaultRule`, `RouteActionOptions`, `RejectActionOptions` in `option/rule.go`, `rule_action.go`. */
export const SING_BOX_RULE = `inbound ip_version network auth_user protocol client domain domain_suffix
  domain_keyword domain_regex geosite source_geoip geoip source_ip_cidr source_ip_is_private ip_cidr
  ip_is_private source_port source_port_range port port_range process_name process_path
  process_path_regex package_name user user_id clash_mode network_type network_is_expensive
  network_is_constrained wifi_ssid wifi_bssid interface_address network_interface_address
  default_interface_address source_mac_address source_hostname preferred_by rule_set
  rule_set_ip_cidr_match_source invert rule_set_ipcidr_match_source outbound override_address
  override_port network_strategy fallback_delay udp_disable_domain_unmapping udp_connect udp_timeout
  tls_fragment tls_fragment_fallback_delay tls_record_fragment method no_drop`;

/** `InboundOptions`, `ListenOptions`, `TunInboundOptions` and those of servers in `option/*.go`. */
export const SING_BOX_INBOUND = `sniff sniff_override_destination sniff_timeout domain_strategy
  udp_disable_domain_unmapping listen listen_port bind_interface routing_mark reuse_addr netns
  disable_tcp_keep_alive tcp_keep_alive tcp_keep_alive_interval tcp_fast_open tcp_multi_path
  udp_fragment udp_timeout detour proxy_protocol proxy_protocol_accept_no_header domain_resolver
  set_system_proxy multiplex managed destinations fallback fallback_for_alpn up_mbps down_mbps
  ignore_client_bandwidth masquerade brutal_debug network`;

export const SING_BOX_TUN = `interface_name mtu address auto_route iproute2_table_index
  iproute2_rule_index auto_redirect auto_redirect_input_mark auto_redirect_output_mark
  auto_redirect_reset_mark auto_redirect_nfqueue auto_redirect_iproute2_fallback_rule_index
  exclude_mptcp loopback_address strict_route route_address route_address_set route_exclude_address
  route_exclude_address_set include_interface exclude_interface include_uid include_uid_range
  exclude_uid exclude_uid_range include_android_user include_package exclude_package
  include_mac_address exclude_mac_address udp_timeout stack platform gso inet4_address inet6_address
  inet4_route_address inet6_route_address inet4_route_exclude_address inet6_route_exclude_address
  endpoint_independent_nat`;

/** `RouteOptions`, `RawDNSOptions` and `_Options`. */
export const SING_BOX_DOCUMENT = `log.output log.timestamp ntp certificate services
  experimental.cache_file experimental.clash_api experimental.v2ray_api experimental.debug route.geoip
  route.geosite route.find_process route.find_neighbor route.dhcp_lease_files
  route.auto_detect_interface route.override_android_vpn route.default_interface route.default_mark
  route.default_network_strategy route.default_network_type route.default_fallback_network_type
  route.default_fallback_delay dns.rules dns.reverse_mapping dns.strategy dns.disable_cache
  dns.disable_expire dns.independent_cache dns.cache_capacity dns.client_subnet dns.fakeip`;

/** `RouterRule` and `RawFieldRule` in `infra/conf/router.go`. */
export const XRAY_RULE = `ruleTag outboundTag balancerTag domain domains ip port network sourceIP source
  sourcePort user vlessRoute inboundTag protocol attrs localIP localPort process localOS webhook`;

/** `Config`, `DNSConfig`, `RouterConfig` in `infra/conf/xray.go`, `dns.go`, `router.go`. */
export const XRAY_DOCUMENT = `transport env policy api metrics stats reverse fakeDns observatory
  burstObservatory version geodata dns.hosts dns.clientIp dns.tag dns.queryStrategy dns.disableCache
  dns.serveStale dns.serveExpiredTTL dns.disableFallback dns.disableFallbackIfMatch
  dns.enableParallelQuery dns.useSystemHosts log.access log.error log.dnsLog log.maskAddress`;

export const wordsIn = (list: string): readonly string[] => list.trim().split(/\s+/);
