import {
  keyTable,
  type KeyGroups,
  under,
  ALPN,
  BANDWIDTH,
  CHAINED,
  CLIENT_CERTIFICATE,
  ECH,
  FINGERPRINT,
  FRAGMENT,
  HEADERS,
  MULTIPLEX,
  OTHER_API,
  SOURCE,
  TLS_VERSIONS,
  TUNING,
  UDP_OVER_TCP,
  VERIFIED_NAME,
} from '../verdicts.ts';

/** Stream settings that Xray's inbounds and outbounds have in common. */
const STREAM: KeyGroups = {
  // Settings of unused transports.
  same: `
    streamSettings.{xhttpSettings splithttpSettings kcpSettings httpupgradeSettings
    hysteriaSettings httpSettings quicSettings dsSettings}`,
  dropped: {
    [TUNING]: `
      streamSettings.grpcSettings.{idle_timeout health_check_timeout permit_without_stream
      initial_windows_size}`,
    [HEADERS]: 'streamSettings.grpcSettings.user_agent',
  },
};

/** Keys of an account, and the paths of the objects that can be one. */
const ACCOUNTS = [
  'settings',
  'settings.vnext',
  'settings.vnext.users',
  'settings.servers',
  'settings.servers.users',
];
const ACCOUNT: KeyGroups = {
  same: 'level email',
  refused: {
    'XTLS flows are not supported': 'flow',
    'VLESS with a seed is not supported': 'seed',
    'a reverse proxy is not supported': 'reverse',
  },
  dropped: {
    [TUNING]: 'testpre testseed',
    'the options of the protocol are chosen by Weir': 'experiments',
  },
};

/** Keys of Xray's outbounds (`infra/conf/*.go`, 2323273) that are not carried over. */
export const XRAY_KEYS = keyTable(...ACCOUNTS.map((path) => under(path, ACCOUNT)), STREAM, {
  // Of the pins only one is read, and only with TLS; masks are read only for Hysteria 2.
  same: `
    settings.servers.{ivCheck UoTVersion} settings.{UoTVersion userLevel noKernelTun}
    settings.peers.{level email} streamSettings.finalmask.quicParams.udpHop.interval
    streamSettings.hysteriaSettings.udphop.interval streamSettings.hysteriaSettings.masquerade
    streamSettings.realitySettings streamSettings.tlsSettings.{enableSessionResumption
    rejectUnknownSni pinnedPeerCertSha256 pinnedPeerCertificateSha256
    pinnedPeerCertificateChainSha256 pinnedPeerCertificatePublicKeySha256 echServerKeys}
    streamSettings.tcpSettings.acceptProxyProtocol
    streamSettings.rawSettings.acceptProxyProtocol streamSettings.wsSettings.acceptProxyProtocol
    streamSettings.sockopt.{tproxy acceptProxyProtocol V6Only v6only trustedXForwardedFor}`,
  refused: {
    [CHAINED]: 'proxySettings streamSettings.sockopt.dialerProxy',
    'one-time authentication is not supported': 'settings.servers.ota',
    'another destination than that of the flow is not supported': 'settings.redirect',
    'the PROXY protocol is not supported': 'settings.proxyProtocol',
    'it replaces the address of the server': 'streamSettings.address',
    'it replaces the port of the server': 'streamSettings.port',
    'masks of the transport are not supported': `
      streamSettings.finalmask streamSettings.finalmask.tcp
      streamSettings.finalmask.udp.settings.*`,
    [ECH]: 'streamSettings.tlsSettings.{echConfigList echForceQuery echSockopt}',
    'servers from SRV and TXT records are not supported':
      'streamSettings.sockopt.addressPortStrategy',
  },
  dropped: {
    [SOURCE]: 'sendThrough streamSettings.sockopt.{mark interface}',
    [MULTIPLEX]: 'mux',
    [UDP_OVER_TCP]: 'settings.servers.uot settings.uot',
    [HEADERS]: 'settings.headers settings.servers.headers streamSettings.wsSettings.headers.*',
    [FRAGMENT]: 'settings.{fragment noise noises}',
    'write a rule with `cidr` to the outbound "blackhole"': 'settings.{ipsBlocked finalRules}',
    'flows are closed without a response': 'settings.response',
    [TUNING]: `
      settings.workers streamSettings.finalmask.quicParams.*
      streamSettings.hysteriaSettings.{congestion udpIdleTimeout}
      streamSettings.wsSettings.heartbeatPeriod streamSettings.sockopt.{tcpFastOpen
      tcpKeepAliveInterval tcpKeepAliveIdle tcpCongestion tcpWindowClamp tcpMaxSeg penetrate
      tcpUserTimeout tcpMptcp customSockopt happyEyeballs}`,
    [BANDWIDTH]: `
      streamSettings.finalmask.quicParams.{brutalUp brutalDown}
      streamSettings.hysteriaSettings.{up down}`,
    [ALPN]: 'streamSettings.tlsSettings.alpn',
    'the authorities of the system count too': 'streamSettings.tlsSettings.disableSystemRoot',
    [TLS_VERSIONS]:
      'streamSettings.tlsSettings.{minVersion maxVersion cipherSuites curvePreferences}',
    [FINGERPRINT]: 'streamSettings.tlsSettings.fingerprint',
    'keys are never written to a file': 'streamSettings.tlsSettings.masterKeyLog',
    [VERIFIED_NAME]: 'streamSettings.tlsSettings.{verifyPeerCertByName verifyPeerCertInNames}',
    'single messages are sent, which every server takes': 'streamSettings.grpcSettings.multiMode',
  },
});

/** Keys of Xray's routing rules (`infra/conf/router.go`, 2323273) that are not carried over. */
export const XRAY_RULE_KEYS = keyTable({
  same: 'type domainMatcher ruleTag',
  refused: {
    "Weir has no condition on the client's port": 'sourcePort',
    'Weir has no condition on the account of the client': 'user',
    'Weir has no condition on the UUID of the client': 'vlessRoute',
    'Weir has no condition on the protocol inside of a flow': 'protocol',
    'Weir has no condition on HTTP headers': 'attrs',
    'Weir has no condition on the address that a client connected to': 'localIP localPort',
    'Weir does not know which program a flow comes from': 'process',
    'Weir has no condition on the operating system': 'localOS',
  },
  dropped: {
    'nothing is called when a rule matches': 'webhook',
  },
});

/** Keys of Xray's balancers that are not carried over. */
export const XRAY_BALANCER_KEYS = keyTable({
  dropped: {
    'members are tested by a connection to their server': 'strategy.settings',
  },
});

/** Keys of Xray's inbounds (`infra/conf/*.go`, 2323273) that are not carried over. */
export const XRAY_INBOUND_KEYS = keyTable(STREAM, {
  same: `
    settings.{userLevel level email default disableInsecureEncryption desc
    autoOutboundsInterface} streamSettings.{address port realitySettings}
    streamSettings.tlsSettings.{serverName allowInsecure enableSessionResumption
    disableSystemRoot fingerprint echConfigList echForceQuery echSockopt}
    streamSettings.grpcSettings.{authority multiMode}`,
  refused: {
    'masks of the transport are not supported': 'streamSettings.finalmask',
    [CLIENT_CERTIFICATE]: `
      streamSettings.tlsSettings.{verifyPeerCertByName verifyPeerCertInNames
      pinnedPeerCertSha256 pinnedPeerCertificateChainSha256
      pinnedPeerCertificatePublicKeySha256}`,
    [ECH]: 'streamSettings.tlsSettings.echServerKeys',
    'the PROXY protocol is not supported': `
      streamSettings.tcpSettings.acceptProxyProtocol
      streamSettings.rawSettings.acceptProxyProtocol
      streamSettings.wsSettings.acceptProxyProtocol streamSettings.sockopt.acceptProxyProtocol`,
    'a transparent proxy is not supported; write an inbound `tun`': 'streamSettings.sockopt.tproxy',
  },
  dropped: {
    'ports do not change': 'allocate',
    [TUNING]: `
      settings.{timeout testseed} streamSettings.wsSettings.heartbeatPeriod
      streamSettings.sockopt.*`,
    'clients are not sent to another port': 'settings.detour',
    'connections of others than users are closed': 'settings.fallbacks',
    'name servers are not set: see docs/tun.md': 'settings.dns',
    'write the networks as `routes`': 'settings.autoSystemRoutingTable',
    'TLS and HTTP are sniffed, in flows to addresses':
      'sniffing.{destOverride domainsExcluded ipsExcluded metadataOnly}',
    [ALPN]: 'streamSettings.tlsSettings.alpn',
    [TLS_VERSIONS]:
      'streamSettings.tlsSettings.{minVersion maxVersion cipherSuites curvePreferences}',
    'clients may ask for any name': 'streamSettings.tlsSettings.rejectUnknownSni',
    'keys are never written to a file': 'streamSettings.tlsSettings.masterKeyLog',
    [HEADERS]: 'streamSettings.wsSettings.headers.*',
    [SOURCE]: 'streamSettings.sockopt.{mark interface V6Only v6only}',
    "a client's address is that of its connection": 'streamSettings.sockopt.trustedXForwardedFor',
  },
});

/** Keys of users of Xray's inbounds that are not carried over. */
export const XRAY_USER_KEYS = keyTable({
  same: 'level security encryption experiments',
  refused: {
    'VLESS with a seed is not supported': 'seed',
    'a reverse proxy is not supported': 'reverse',
  },
  dropped: {
    [TUNING]: 'testpre testseed',
  },
});

const CACHE = 'answers are always kept as long as they say';
const FAMILY = 'write `address_family` of outbounds';

/** Keys of an Xray configuration outside its lists (`infra/conf/*.go`, 2323273) that are not carried over. */
export const XRAY_DOCUMENT_KEYS = keyTable({
  same: 'routing.domainMatcher version remarks',
  dropped: {
    'flows are logged with the level debug': 'log.access',
    'the log goes to standard error; see docs/service.md': 'log.error',
    'queries are logged with the level debug': 'log.dnsLog',
    'addresses are logged as they are': 'log.maskAddress',
    'it is an older way to write `routing`; write it there': 'routing.settings',
    'it is an older way to write `streamSettings`; write it there': 'transport',
    'Weir has nothing for it': 'env',
    'time limits are those of Weir': 'policy',
    [OTHER_API]: 'api metrics',
    'a reverse proxy is not supported': 'reverse',
    'addresses are real; names of flows are sniffed': 'fakeDns fakedns',
    'members of a balancer are tested by a connection to their server':
      'observatory burstObservatory',
    'name the files as `route.geoip` and `route.geosite`': 'geodata',
    'write the names into /etc/hosts, which the system resolver reads': 'dns.hosts',
    'queries carry no subnet': 'dns.clientIp',
    'queries go directly, not by rules': 'dns.tag',
    [FAMILY]: 'dns.queryStrategy',
    [CACHE]: 'dns.{disableCache serveStale serveExpiredTTL}',
    'all names are resolved by one server':
      'dns.{disableFallback disableFallbackIfMatch enableParallelQuery}',
    '/etc/hosts is read by the system resolver alone': 'dns.useSystemHosts',
  },
  present: {
    'Weir counts in any case: see its API, `weir metrics` and `weir usage`': 'stats',
  },
});

/** Keys of a DNS server of Xray that are not carried over. */
export const XRAY_DNS_KEYS = keyTable({
  same: 'finalQuery',
  refused: {
    'it is for some names alone': 'skipFallback domains',
    'it is for some answers alone': 'expectedIPs expectIPs unexpectedIPs',
  },
  dropped: {
    'queries carry no subnet': 'clientIp',
    [FAMILY]: 'queryStrategy',
    'queries go directly, not by rules': 'tag',
    [TUNING]: 'timeoutMs',
    [CACHE]: 'disableCache serveStale serveExpiredTTL',
  },
});
