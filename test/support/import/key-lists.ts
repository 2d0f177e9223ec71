/*
 * The keys that other programs' outbounds have, from the sources named. Each is set to a value that
 * switches it on, so that a reader has to carry it over, to name it, or to refuse the entry.
 */

const SECRET = Buffer.alloc(32, 7).toString('base64');
const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';

/** An entry as it is imported without a note, and values for all keys that its program has beside. */
export interface ProgramKeys {
  readonly what: string;
  readonly entry: Readonly<Record<string, unknown>>;
  /** By path; a key of `entry` may be among them, with another value. */
  readonly keys: Readonly<Record<string, unknown>>;
}

/** `option/outbound.go` of sing-box 7df171f: DialerOptions. */
const SING_BOX_DIALER = {
  detour: 'other',
  bind_interface: 'eth0',
  inet4_bind_address: '192.0.2.1',
  inet6_bind_address: '2001:db8::1',
  bind_address_no_port: true,
  protect_path: '/run/protect',
  routing_mark: 7,
  reuse_addr: true,
  netns: 'other',
  connect_timeout: '5s',
  tcp_fast_open: true,
  tcp_multi_path: true,
  disable_tcp_keep_alive: true,
  tcp_keep_alive: '1m',
  tcp_keep_alive_interval: '1m',
  udp_fragment: true,
  'domain_resolver.server': 'local',
  'domain_resolver.strategy': 'prefer_ipv4',
  'domain_resolver.disable_cache': true,
  'domain_resolver.rewrite_ttl': 7,
  'domain_resolver.client_subnet': '192.0.2.0/24',
  network_strategy: 'fallback',
  network_type: ['wifi'],
  fallback_network_type: ['wifi'],
  fallback_delay: '300ms',
  domain_strategy: 'ipv4_only',
};

/** `option/tls.go`: OutboundTLSOptions. */
const SING_BOX_TLS = {
  'tls.disable_sni': true,
  'tls.server_name': 'name.example',
  'tls.insecure': true,
  'tls.alpn': ['h2'],
  'tls.min_version': '1.2',
  'tls.max_version': '1.3',
  'tls.cipher_suites': ['TLS_AES_128_GCM_SHA256'],
  'tls.curve_preferences': ['P256'],
  'tls.certificate': ['-----BEGIN CERTIFICATE-----'],
  'tls.certificate_path': 'ca.pem',
  'tls.certificate_public_key_sha256': [SECRET],
  'tls.client_certificate': ['-----BEGIN CERTIFICATE-----'],
  'tls.client_certificate_path': 'own.pem',
  'tls.client_key': ['-----BEGIN PRIVATE KEY-----'],
  'tls.client_key_path': 'own.key',
  'tls.fragment': true,
  'tls.fragment_fallback_delay': '500ms',
  'tls.record_fragment': true,
  'tls.kernel_tx': true,
  'tls.kernel_rx': true,
  'tls.ech': { enabled: true, config: ['x'] },
  'tls.utls': { enabled: true, fingerprint: 'chrome' },
  'tls.reality': { enabled: true, public_key: 'x', short_id: 'ab' },
};

/** `option/multiplex.go`, `option/v2ray_transport.go`. */
const SING_BOX_STREAM = {
  ...SING_BOX_DIALER,
  ...SING_BOX_TLS,
  network: 'tcp',
  multiplex: { enabled: true, protocol: 'h2mux', brutal: { enabled: true, up_mbps: 1 } },
  packet_encoding: 'xudp',
};

const SING_BOX_SERVER = { tag: 'a', server: 'a.example', server_port: 443 };

export const SING_BOX: readonly ProgramKeys[] = [
  {
    what: 'vless over ws',
    entry: {
      ...SING_BOX_SERVER,
      type: 'vless',
      uuid: ID,
      tls: { enabled: true },
      transport: { type: 'ws', path: '/p' },
    },
    keys: {
      ...SING_BOX_STREAM,
      flow: 'xtls-rprx-vision',
      'transport.headers': { Host: 'h.example', 'X-Other': 'x' },
      'transport.max_early_data': 2048,
      'transport.early_data_header_name': 'X-Early',
    },
  },
  {
    what: 'vmess over grpc',
    entry: {
      ...SING_BOX_SERVER,
      type: 'vmess',
      uuid: ID,
      tls: { enabled: true },
      transport: { type: 'grpc', service_name: 's' },
    },
    keys: {
      ...SING_BOX_STREAM,
      security: 'chacha20-poly1305',
      alter_id: 64,
      global_padding: true,
      authenticated_length: true,
      'transport.idle_timeout': '15s',
      'transport.ping_timeout': '15s',
      'transport.permit_without_stream': true,
    },
  },
  {
    what: 'trojan',
    entry: { ...SING_BOX_SERVER, type: 'trojan', password: 'p', tls: { enabled: true } },
    keys: SING_BOX_STREAM,
  },
  {
    what: 'shadowsocks',
    entry: { ...SING_BOX_SERVER, type: 'shadowsocks', method: 'aes-128-gcm', password: 'p' },
    keys: {
      ...SING_BOX_DIALER,
      plugin: 'obfs-local',
      plugin_opts: 'obfs=http',
      network: 'tcp',
      udp_over_tcp: { enabled: true, version: 2 },
      multiplex: { enabled: true },
    },
  },
  {
    what: 'hysteria2',
    entry: { ...SING_BOX_SERVER, type: 'hysteria2', password: 'p', tls: { enabled: true } },
    keys: {
      ...SING_BOX_DIALER,
      ...SING_BOX_TLS,
      server_ports: ['1000:2000'],
      hop_interval: '30s',
      up_mbps: 100,
      down_mbps: 100,
      obfs: { type: 'salamander', password: 'abcd' },
      network: 'tcp',
      brutal_debug: true,
    },
  },
  {
    what: 'socks',
    entry: { ...SING_BOX_SERVER, type: 'socks' },
    keys: {
      ...SING_BOX_DIALER,
      version: '4',
      username: 'u',
      password: 'p',
      network: 'tcp',
      udp_over_tcp: true,
    },
  },
  {
    what: 'http',
    entry: { ...SING_BOX_SERVER, type: 'http', tls: { enabled: true } },
    keys: {
      ...SING_BOX_DIALER,
      ...SING_BOX_TLS,
      username: 'u',
      password: 'p',
      path: '/p',
      headers: { 'X-Other': 'x' },
    },
  },
  {
    what: 'direct',
    entry: { type: 'direct', tag: 'a' },
    keys: {
      ...SING_BOX_DIALER,
      override_address: '192.0.2.1',
      override_port: 1,
      proxy_protocol: 2,
    },
  },
  {
    what: 'wireguard',
    entry: {
      type: 'wireguard',
      tag: 'a',
      private_key: SECRET,
      address: ['10.0.0.2/32'],
      peers: [{ address: 'a.example', port: 1, public_key: SECRET, allowed_ips: ['0.0.0.0/0'] }],
    },
    keys: {
      ...SING_BOX_DIALER,
      system: true,
      name: 'wg0',
      mtu: 1280,
      listen_port: 51820,
      udp_timeout: '5m',
      workers: 2,
      'peers.pre_shared_key': SECRET,
      'peers.allowed_ips': ['192.0.2.0/24'],
      'peers.persistent_keepalive_interval': 25,
      'peers.reserved': [1, 2, 3],
    },
  },
];

/** `infra/conf/transport_internet.go`, `transport_security.go`, `transport_sockopt.go` of Xray 2323273. */
const XRAY_STREAM = {
  sendThrough: '192.0.2.1',
  proxySettings: { tag: 'other' },
  mux: { enabled: true, concurrency: 8 },
  targetStrategy: 'UseIPv4',
  'streamSettings.address': '192.0.2.1',
  'streamSettings.port': 1,
  'streamSettings.finalmask': { tcp: [{ type: 'x' }] },
  'streamSettings.tlsSettings.allowInsecure': true,
  'streamSettings.tlsSettings.certificates': [{ certificateFile: 'ca.pem', usage: 'verify' }],
  'streamSettings.tlsSettings.serverName': 'name.example',
  'streamSettings.tlsSettings.alpn': ['h2'],
  'streamSettings.tlsSettings.enableSessionResumption': true,
  'streamSettings.tlsSettings.disableSystemRoot': true,
  'streamSettings.tlsSettings.minVersion': '1.3',
  'streamSettings.tlsSettings.maxVersion': '1.3',
  'streamSettings.tlsSettings.cipherSuites': 'TLS_AES_128_GCM_SHA256',
  'streamSettings.tlsSettings.fingerprint': 'chrome',
  'streamSettings.tlsSettings.rejectUnknownSni': true,
  'streamSettings.tlsSettings.curvePreferences': ['X25519'],
  'streamSettings.tlsSettings.masterKeyLog': '/tmp/keys',
  'streamSettings.tlsSettings.pinnedPeerCertSha256': 'ab',
  'streamSettings.tlsSettings.verifyPeerCertByName': 'other.example',
  'streamSettings.tlsSettings.echConfigList': 'x',
  'streamSettings.tlsSettings.echSockopt': { mark: 1 },
  'streamSettings.sockopt.mark': 1,
  'streamSettings.sockopt.tcpFastOpen': true,
  'streamSettings.sockopt.domainStrategy': 'UseIPv6',
  'streamSettings.sockopt.dialerProxy': 'other',
  'streamSettings.sockopt.tcpKeepAliveInterval': 1,
  'streamSettings.sockopt.tcpKeepAliveIdle': 1,
  'streamSettings.sockopt.tcpCongestion': 'bbr',
  'streamSettings.sockopt.tcpWindowClamp': 1,
  'streamSettings.sockopt.tcpMaxSeg': 1,
  'streamSettings.sockopt.penetrate': true,
  'streamSettings.sockopt.tcpUserTimeout': 1,
  'streamSettings.sockopt.interface': 'eth0',
  'streamSettings.sockopt.tcpMptcp': true,
  'streamSettings.sockopt.customSockopt': [{ opt: '1' }],
  'streamSettings.sockopt.addressPortStrategy': 'srvportonly',
  'streamSettings.sockopt.happyEyeballs': { tryDelayMs: 1 },
};

const TLS = { network: 'tcp', security: 'tls', tlsSettings: { serverName: 'a.example' } };

export const XRAY: readonly ProgramKeys[] = [
  {
    what: 'vless over ws',
    entry: {
      tag: 'a',
      protocol: 'vless',
      settings: { address: 'a.example', port: 443, id: ID, encryption: 'none' },
      streamSettings: { ...TLS, network: 'ws', wsSettings: { path: '/p' } },
    },
    keys: {
      ...XRAY_STREAM,
      'settings.level': 1,
      'settings.email': 'e',
      'settings.flow': 'xtls-rprx-vision',
      'settings.seed': 's',
      'settings.encryption': 'mlkem768x25519plus.native',
      'settings.reverse': { tag: 'r' },
      'settings.testpre': 1,
      'settings.testseed': [1],
      'streamSettings.wsSettings.host': 'h.example',
      'streamSettings.wsSettings.headers': { Host: 'h.example', 'X-Other': 'x' },
      'streamSettings.wsSettings.heartbeatPeriod': 1,
    },
  },
  {
    what: 'vmess over grpc',
    entry: {
      tag: 'a',
      protocol: 'vmess',
      settings: { vnext: [{ address: 'a.example', port: 443, users: [{ id: ID }] }] },
      streamSettings: { ...TLS, network: 'grpc', grpcSettings: { serviceName: 's' } },
    },
    keys: {
      ...XRAY_STREAM,
      'settings.vnext.users.level': 1,
      'settings.vnext.users.email': 'e',
      'settings.vnext.users.security': 'chacha20-poly1305',
      'settings.vnext.users.experiments': 'AuthenticatedLength',
      'streamSettings.grpcSettings.authority': 'h.example',
      'streamSettings.grpcSettings.multiMode': true,
      'streamSettings.grpcSettings.idle_timeout': 60,
      'streamSettings.grpcSettings.health_check_timeout': 60,
      'streamSettings.grpcSettings.permit_without_stream': true,
      'streamSettings.grpcSettings.initial_windows_size': 65_536,
      'streamSettings.grpcSettings.user_agent': 'x',
    },
  },
  {
    what: 'trojan',
    entry: {
      tag: 'a',
      protocol: 'trojan',
      settings: { servers: [{ address: 'a.example', port: 443, password: 'p' }] },
      streamSettings: TLS,
    },
    keys: {
      ...XRAY_STREAM,
      'settings.servers.level': 1,
      'settings.servers.email': 'e',
      'settings.servers.flow': 'xtls-rprx-direct',
      'streamSettings.tcpSettings.header': { type: 'http' },
    },
  },
  {
    what: 'shadowsocks',
    entry: {
      tag: 'a',
      protocol: 'shadowsocks',
      settings: {
        servers: [{ address: 'a.example', port: 1, method: 'aes-128-gcm', password: 'p' }],
      },
    },
    keys: {
      'settings.servers.level': 1,
      'settings.servers.email': 'e',
      'settings.servers.uot': true,
      'settings.servers.UoTVersion': 2,
      'settings.servers.ivCheck': true,
    },
  },
  {
    what: 'freedom',
    entry: { tag: 'a', protocol: 'freedom' },
    keys: {
      'settings.targetStrategy': 'UseIPv4',
      'settings.domainStrategy': 'UseIPv4',
      'settings.redirect': '192.0.2.1:1',
      'settings.userLevel': 1,
      'settings.fragment': { packets: 'tlshello' },
      'settings.noise': { type: 'rand' },
      'settings.noises': [{ type: 'rand' }],
      'settings.proxyProtocol': 2,
      'settings.ipsBlocked': ['geoip:private'],
      'settings.finalRules': [{ action: 'block' }],
    },
  },
  {
    what: 'blackhole',
    entry: { tag: 'a', protocol: 'blackhole' },
    keys: { 'settings.response': { type: 'http' } },
  },
  {
    what: 'wireguard',
    entry: {
      tag: 'a',
      protocol: 'wireguard',
      settings: {
        secretKey: SECRET,
        address: ['10.0.0.2'],
        peers: [{ publicKey: SECRET, endpoint: 'a.example:1', allowedIPs: ['::/0'] }],
      },
    },
    keys: {
      'settings.noKernelTun': true,
      'settings.mtu': 1280,
      'settings.reserved': [1, 2, 3],
      'settings.workers': 2,
      'settings.domainStrategy': 'ForceIPv4',
      'settings.peers.preSharedKey': SECRET,
      'settings.peers.keepAlive': 25,
      'settings.peers.allowedIPs': ['192.0.2.0/24'],
      'settings.peers.level': 1,
      'settings.peers.email': 'e',
    },
  },
  {
    what: 'http',
    entry: {
      tag: 'a',
      protocol: 'http',
      settings: { servers: [{ address: 'a.example', port: 1 }] },
    },
    keys: {
      'settings.servers.users': [{ user: 'u', pass: 'p', level: 1, email: 'e' }],
      'settings.headers': { 'X-Other': 'x' },
      'settings.level': 1,
      'settings.email': 'e',
    },
  },
];

/** `adapter/outbound/*.go` of mihomo ccc3f84, and the keys that later versions added. */
const CLASH_BASE = {
  'dialer-proxy': 'other',
  tfo: true,
  mptcp: true,
  'interface-name': 'eth0',
  'routing-mark': 7,
  'ip-version': 'ipv6-prefer',
  udp: true,
};
const CLASH_TLS = {
  ...CLASH_BASE,
  alpn: ['h2'],
  'skip-cert-verify': true,
  fingerprint: 'ab',
  'client-fingerprint': 'chrome',
  'reality-opts': { 'public-key': 'x' },
  'ech-opts': { enable: true },
  smux: { enabled: true },
};
const CLASH_STREAM = {
  ...CLASH_TLS,
  servername: 'name.example',
  'packet-addr': true,
  xudp: true,
  'packet-encoding': 'xudp',
  'http-opts': { method: 'GET' },
  'h2-opts': { path: '/' },
};
const CLASH_SERVER = { name: 'a', server: 'a.example', port: 443 };

export const CLASH: readonly ProgramKeys[] = [
  {
    what: 'vless over ws',
    entry: {
      ...CLASH_SERVER,
      type: 'vless',
      uuid: ID,
      tls: true,
      network: 'ws',
      'ws-opts': { path: '/p' },
    },
    keys: {
      ...CLASH_STREAM,
      flow: 'xtls-rprx-vision',
      encryption: 'mlkem768x25519plus.native',
      'ws-path': '/q',
      'ws-headers': { Host: 'h.example' },
      'ws-opts.headers': { Host: 'h.example', 'X-Other': 'x' },
      'ws-opts.max-early-data': 2048,
      'ws-opts.early-data-header-name': 'X-Early',
      'ws-opts.v2ray-http-upgrade': true,
      'ws-opts.v2ray-http-upgrade-fast-open': true,
    },
  },
  {
    what: 'vmess over grpc',
    entry: {
      ...CLASH_SERVER,
      type: 'vmess',
      uuid: ID,
      alterId: 0,
      cipher: 'auto',
      tls: true,
      network: 'grpc',
      'grpc-opts': { 'grpc-service-name': 's' },
    },
    keys: {
      ...CLASH_STREAM,
      alterId: 64,
      cipher: 'none',
      'global-padding': true,
      'authenticated-length': true,
    },
  },
  {
    what: 'trojan',
    entry: { ...CLASH_SERVER, type: 'trojan', password: 'p' },
    keys: { ...CLASH_TLS, sni: 'name.example', 'ss-opts': { enabled: true } },
  },
  {
    what: 'shadowsocks',
    entry: { ...CLASH_SERVER, type: 'ss', cipher: 'aes-128-gcm', password: 'p' },
    keys: {
      ...CLASH_BASE,
      plugin: 'obfs',
      'plugin-opts': { mode: 'tls' },
      'udp-over-tcp': true,
      'udp-over-tcp-version': 2,
      'client-fingerprint': 'chrome',
      smux: { enabled: true },
    },
  },
  {
    what: 'hysteria2',
    entry: { ...CLASH_SERVER, type: 'hysteria2', password: 'p' },
    keys: {
      ...CLASH_BASE,
      ports: '1000-2000',
      'hop-interval': 30,
      up: '100 Mbps',
      down: '100 Mbps',
      obfs: 'salamander',
      sni: 'name.example',
      'skip-cert-verify': true,
      fingerprint: 'ab',
      alpn: ['h3'],
      ca: 'ca.pem',
      'ca-str': 'x',
      cwnd: 10,
      'udp-mtu': 1200,
      'initial-stream-receive-window': 1,
      'max-stream-receive-window': 1,
      'initial-connection-receive-window': 1,
      'max-connection-receive-window': 1,
    },
  },
  {
    what: 'socks5',
    entry: { ...CLASH_SERVER, type: 'socks5', tls: true },
    keys: { ...CLASH_BASE, username: 'u', password: 'p', fingerprint: 'ab' },
  },
  {
    what: 'http',
    entry: { ...CLASH_SERVER, type: 'http', tls: true },
    keys: {
      ...CLASH_BASE,
      username: 'u',
      password: 'p',
      sni: 'name.example',
      'skip-cert-verify': true,
      fingerprint: 'ab',
      headers: { 'X-Other': 'x' },
    },
  },
  {
    what: 'wireguard',
    entry: {
      ...CLASH_SERVER,
      type: 'wireguard',
      ip: '10.0.0.2',
      'private-key': SECRET,
      'public-key': SECRET,
    },
    keys: {
      ...CLASH_BASE,
      ipv6: 'fd00::2',
      workers: 2,
      mtu: 1280,
      'persistent-keepalive': 25,
      'amnezia-wg-option': { jc: 1 },
      'remote-dns-resolve': true,
      dns: ['192.0.2.1'],
      'refresh-server-ip-interval': 60,
      'pre-shared-key': SECRET,
      reserved: [1, 2, 3],
      'allowed-ips': ['192.0.2.0/24'],
    },
  },
];
