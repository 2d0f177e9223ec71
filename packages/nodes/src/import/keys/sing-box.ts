import {
  keyTable,
  type KeyGroups,
  type KeyTable,
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
  OTHER_API,
  PINNED,
  SERVER_MULTIPLEX,
  SOURCE,
  TLS_VERSIONS,
  TUNING,
  UDP_OVER_TCP,
} from '../verdicts.ts';

/** Dial fields, which sing-box's outbounds and DNS servers have in common. */
const DIALER: KeyGroups = {
  dropped: {
    [SOURCE]: `
      bind_interface inet4_bind_address inet6_bind_address bind_address_no_port protect_path
      routing_mark netns network_strategy network_type fallback_network_type`,
    [TUNING]: `
      fallback_delay reuse_addr connect_timeout tcp_fast_open tcp_multi_path
      disable_tcp_keep_alive tcp_keep_alive tcp_keep_alive_interval udp_fragment`,
  },
};

/** Keys of sing-box's outbounds and endpoints (`option/*.go`, 7df171f) that are not carried over. */
export const SING_BOX_KEYS = keyTable(DIALER, {
  // `plugin_opts` has no effect, since plugins are refused. `packet_encoding` is about UDP in VLESS and VMess, which
  // Weir sends in a separate stream: every server accepts that.
  same: `
    plugin_opts packet_encoding authenticated_length hop_interval tls.reality.{public_key
    short_id} gso`,
  when: {
    version: (value) => value === '5',
  },
  refused: {
    [CHAINED]: 'detour',
    'a path of the HTTP proxy is not supported': 'path',
    'another destination than that of the flow is not supported': 'override_address override_port',
    'the PROXY protocol is not supported': 'proxy_protocol',
    [CLIENT_CERTIFICATE]:
      'tls.{client_certificate client_certificate_path client_key client_key_path}',
    [ECH]: 'tls.ech',
    'AmneziaWG is not supported': 'amnezia',
  },
  dropped: {
    [NO_RESOLVER]: 'domain_resolver.{server disable_cache rewrite_ttl client_subnet}',
    [ONE_NETWORK]: 'network',
    [MULTIPLEX]: 'multiplex',
    [UDP_OVER_TCP]: 'udp_over_tcp',
    'padding is added as the options of the protocol say': 'global_padding',
    [BANDWIDTH]: 'up_mbps down_mbps',
    [TUNING]: `
      brutal_debug tls.{kernel_tx kernel_rx} transport.{idle_timeout ping_timeout
      permit_without_stream} udp_timeout workers`,
    [HEADERS]: 'headers transport.headers.*',
    'the server name is sent, unless it is an IP address': 'tls.disable_sni',
    [ALPN]: 'tls.alpn',
    [TLS_VERSIONS]: 'tls.{min_version max_version cipher_suites curve_preferences}',
    [FRAGMENT]: 'tls.{fragment fragment_fallback_delay record_fragment}',
    [FINGERPRINT]: 'tls.utls',
    'the tunnel has a TCP/IP stack of its own and no interface':
      'system name system_interface interface_name',
    'the tunnel leaves by a port that the kernel chooses': 'listen_port',
  },
});

/** Keys of sing-box's route rules (`option/rule.go`, `rule_action.go`, 7df171f) that are not carried over. */
export const SING_BOX_RULE_KEYS = keyTable({
  // From `bind_interface` and `reuse_addr` on: options of the action `direct`.
  same: 'udp_disable_domain_unmapping no_drop',
  refused: {
    'Weir has no condition on the account of the client': 'auth_user',
    'Weir has no condition on the protocol inside of a flow': 'protocol',
    'Weir has no condition on the program of the client': 'client',
    "Weir has no lists for the client's address; write source_cidr": 'source_geoip',
    "Weir has no condition on the client's port": 'source_port source_port_range',
    'Weir does not know which program a flow comes from':
      'process_name process_path process_path_regex package_name user user_id',
    'Weir does not know the network that the machine is in': `
      network_type network_is_expensive network_is_constrained wifi_ssid wifi_bssid
      interface_address network_interface_address default_interface_address`,
    "Weir does not know the client's MAC address": 'source_mac_address',
    "Weir does not know the client's host name": 'source_hostname',
    'Weir has no outbounds that prefer destinations': 'preferred_by',
    "Weir has no lists for the client's address":
      'rule_set_ip_cidr_match_source rule_set_ipcidr_match_source',
    'another destination than that of the flow is not supported': 'override_address override_port',
  },
  dropped: {
    [SOURCE]: `
      network_strategy fallback_network_type bind_interface inet4_bind_address
      inet6_bind_address routing_mark`,
    [TUNING]: `
      fallback_delay udp_connect udp_timeout reuse_addr connect_timeout tcp_fast_open
      tcp_multi_path udp_fragment`,
    [FRAGMENT]: 'tls_fragment tls_fragment_fallback_delay tls_record_fragment',
    'flows are closed, without a reset or a reply of their own': 'method',
    'write `address_family` of an outbound of its own': 'domain_strategy',
  },
});

/** Keys of sing-box's selector and urltest (`option/group.go`, 7df171f) that are not carried over. */
export const SING_BOX_GROUP_KEYS = keyTable({
  same: 'idle_timeout',
  dropped: {
    'flows stay where they are when the choice changes': 'interrupt_exist_connections',
    'members are tested by a connection to their server': 'url',
    'the first member that works is used': 'tolerance',
  },
});

/** Keys of sing-box's inbounds (`option/inbound.go` and those of each type, 7df171f) that are not carried over. */
export const SING_BOX_INBOUND_KEYS = keyTable({
  // `tls.server_name` is the name that clients request; a server has one certificate.
  same: `
    reuse_addr proxy_protocol_accept_no_header udp_disable_domain_unmapping tls.{server_name
    insecure} transport.{method max_early_data} platform gso endpoint_independent_nat`,
  when: {
    'transport.early_data_header_name': (value) => value === 'Sec-WebSocket-Protocol',
  },
  refused: {
    'another inbound takes its connections, which Weir cannot do': 'detour',
    'another network namespace is not supported': 'netns',
    'the PROXY protocol is not supported': 'proxy_protocol',
    'users that another program manages are not supported': 'managed',
    'a relay to other Shadowsocks servers is not supported': 'destinations',
    [CLIENT_CERTIFICATE]: `
      tls.{client_authentication client_certificate client_certificate_path
      client_certificate_public_key_sha256}`,
    [ECH]: 'tls.ech',
  },
  dropped: {
    'bind to an address of the interface by `listen`': 'bind_interface',
    [SOURCE]: 'routing_mark',
    [TUNING]: `
      disable_tcp_keep_alive tcp_keep_alive tcp_keep_alive_interval tcp_fast_open tcp_multi_path
      udp_fragment udp_timeout sniff_timeout brutal_debug tls.{kernel_tx kernel_rx}
      transport.{idle_timeout ping_timeout permit_without_stream}`,
    'rules see the sniffed name; the flow still goes to the address': 'sniff_override_destination',
    'the settings of the desktop are yours to make': 'set_system_proxy',
    'names are resolved by [dns]': 'domain_resolver',
    'TCP and UDP are served': 'network',
    [SERVER_MULTIPLEX]: 'multiplex',
    'connections of others than users are closed': 'fallback fallback_for_alpn',
    [BANDWIDTH]: 'up_mbps down_mbps ignore_client_bandwidth',
    'others than users get 404; write `masquerade` for another page': 'masquerade',
    [ALPN]: 'tls.alpn',
    [TLS_VERSIONS]: 'tls.{min_version max_version cipher_suites curve_preferences}',
    [HEADERS]: 'transport.host transport.headers.* transport.headers',
    'the device takes what `routes` lead into it; see docs/tun.md': `
      iproute2_table_index iproute2_rule_index auto_redirect auto_redirect_input_mark
      auto_redirect_output_mark auto_redirect_reset_mark auto_redirect_nfqueue
      auto_redirect_iproute2_fallback_rule_index exclude_mptcp strict_route include_interface
      exclude_interface include_uid include_uid_range exclude_uid exclude_uid_range
      include_android_user include_package exclude_package include_mac_address
      exclude_mac_address`,
    'flows to an address of the device go where other flows go': 'loopback_address',
    'write the networks themselves as `routes`': 'route_address_set route_exclude_address_set',
    'these addresses enter the device too; write `routes` without them':
      'route_exclude_address inet4_route_exclude_address inet6_route_exclude_address',
    "the device has Weir's own TCP/IP stack": 'stack',
  },
});

/** Keys of users that are not carried over: none, since all of them are read. */
export const SING_BOX_USER_KEYS: KeyTable = {};

/** Keys of a DNS server of sing-box (`option/dns.go`, `option/outbound.go`, 7df171f) that are not carried over. */
export const SING_BOX_DNS_KEYS = keyTable(DIALER, {
  // Nothing has to be resolved: the server is an address.
  same: `
    domain_resolver domain_strategy address_resolver address_strategy address_fallback_delay
    method tls.enabled`,
  refused: {
    [PINNED]: 'tls.{certificate certificate_public_key_sha256}',
    [CLIENT_CERTIFICATE]:
      'tls.{client_certificate client_certificate_path client_key client_key_path}',
    [ECH]: 'tls.{ech reality}',
  },
  dropped: {
    'write `address_family` of outbounds': 'strategy',
    'queries carry no subnet': 'client_subnet',
    [HEADERS]: 'headers',
    'the server name is sent': 'tls.disable_sni',
    'the certificate is verified': 'tls.insecure',
    [ALPN]: 'tls.alpn',
    [TLS_VERSIONS]: 'tls.{min_version max_version cipher_suites curve_preferences}',
    [FRAGMENT]: 'tls.{fragment fragment_fallback_delay record_fragment}',
    [TUNING]: 'tls.{kernel_tx kernel_rx}',
    [FINGERPRINT]: 'tls.utls',
  },
});

/** Keys of a sing-box configuration outside its lists (`option/*.go`, 7df171f) that are not carried over. */
export const SING_BOX_DOCUMENT_KEYS = keyTable({
  // `auto_detect_interface`: Weir's own connections never go through its TUN devices.
  same: '$schema log.timestamp route.{auto_detect_interface override_android_vpn}',
  dropped: {
    'the log goes to standard error; see docs/service.md': 'log.output',
    "the system's clock is used; VMess needs it right within two minutes": 'ntp',
    "the system's authorities are trusted; write `ca_file` for others": 'certificate',
    'Weir has nothing for it': 'services',
    [OTHER_API]: 'experimental.* experimental.clash_api.*',
    'picks are kept in the configuration; answers of DNS are not kept': 'experimental.cache_file',
    'name a file of v2ray as `route.geoip`': 'route.geoip',
    'name a file of v2ray as `route.geosite`': 'route.geosite',
    'Weir does not know which program a flow comes from': 'route.find_process',
    'Weir does not know which device a flow comes from': 'route.{find_neighbor dhcp_lease_files}',
    [SOURCE]: `
      route.{default_interface default_mark default_network_strategy default_network_type
      default_fallback_network_type default_fallback_delay}`,
    'write `address_family` of outbounds': 'route.default_domain_resolver.strategy dns.strategy',
    'answers are always kept as long as they say': `
      route.default_domain_resolver.{disable_cache rewrite_ttl} dns.{disable_cache
      disable_expire independent_cache cache_capacity}`,
    'queries carry no subnet': 'route.default_domain_resolver.client_subnet dns.client_subnet',
    'all names are resolved by one server': 'dns.rules',
    'names are sniffed, not taken from DNS': 'dns.reverse_mapping',
    'addresses are real; names of flows are sniffed': 'dns.fakeip',
  },
});
