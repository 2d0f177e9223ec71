import { isBrowser } from '@weir/proxy/protocols/forms/clash';
import {
  keyTable,
  ALPN,
  BANDWIDTH,
  CHAINED,
  CLIENT_CERTIFICATE,
  ECH,
  FINGERPRINT,
  HEADERS,
  MULTIPLEX,
  NO_RESOLVER,
  OTHER_API,
  SOURCE,
  TUNING,
  UDP_OVER_TCP,
} from '../verdicts.ts';

/** Keys of the proxies of mihomo (`adapter/outbound/*.go`, ccc3f84) that are not carried over. */
export const CLASH_KEYS = keyTable({
  // Trojan ignores `tls`, since it always has it; other keys of TLS and of transports are read only with these.
  same: `
    packet-addr xudp packet-encoding authenticated-length tls servername sni skip-cert-verify
    reality-opts udp-over-tcp-version plugin-opts http-opts h2-opts
    ws-opts.v2ray-http-upgrade-fast-open hop-interval`,
  when: {
    network: (value) => value === 'tcp',
    udp: (value) => value === 'true' || value === true,
    fingerprint: (value) => !isBrowser(value),
  },
  refused: {
    [CHAINED]: 'dialer-proxy',
    [ECH]: 'ech-opts',
    [CLIENT_CERTIFICATE]: 'certificate private-key-file',
    'Shadowsocks inside of Trojan is not supported': 'ss-opts',
    'it is an older way to write ws-opts; write it there': 'ws-path ws-headers',
    'write the CA to a file, and its name as ca_file': 'ca-str',
    'AmneziaWG is not supported': 'amnezia-wg-option',
  },
  dropped: {
    [TUNING]: `
      tfo mptcp cwnd udp-mtu initial-stream-receive-window max-stream-receive-window
      initial-connection-receive-window max-connection-receive-window workers
      refresh-server-ip-interval`,
    [SOURCE]: 'interface-name routing-mark',
    [MULTIPLEX]: 'smux',
    'padding is added as the options of the protocol say': 'global-padding',
    [FINGERPRINT]: 'client-fingerprint',
    [ALPN]: 'alpn',
    [UDP_OVER_TCP]: 'udp-over-tcp',
    [HEADERS]: 'ws-opts.headers.* headers',
    [BANDWIDTH]: 'up down',
    [NO_RESOLVER]: 'remote-dns-resolve dns',
    'UDP is sent too; limit it by `network` in a rule': 'disable-udp',
  },
});

const isTrue = (value: unknown): boolean => value === 'true' || value === true;

/** Keys of `proxy-groups` (`adapter/outboundgroup/parser.go`, ccc3f84) that are not carried over. */
export const CLASH_GROUP_KEYS = keyTable({
  same: `
    name interval tolerance filter exclude-filter exclude-type include-all-providers
    empty-fallback hidden icon`,
  dropped: {
    'Weir probes members by a TCP connection to their server':
      'url expected-status timeout max-failed-times',
    'Weir probes members whether they are used or not': 'lazy',
    'members are used in turn': 'strategy',
    'UDP is sent too; limit it by `network` in a rule': 'disable-udp',
    [SOURCE]: 'interface-name routing-mark',
  },
});

/** Keys of `listeners` that are not carried over. */
export const CLASH_LISTENER_KEYS = keyTable({
  dropped: {
    [SOURCE]: 'routing-mark',
  },
});

/** Keys of a document (`config/config.go`, ccc3f84) that belong to none of the other tables. */
export const CLASH_DOCUMENT_KEYS = keyTable({
  same: `
    lan-allowed-ips lan-disallowed-ips bind-address unified-delay geo-update-interval
    geodata-mode geodata-loader geosite-matcher tcp-concurrent global-ua etag-support profile
    sniffer.{force-dns-mapping parse-pure-ip} clash-for-android dns.{ipv6 ipv6-timeout use-hosts
    use-system-hosts direct-nameserver-follow-policy default-nameserver fake-ip-range
    fake-ip-filter-mode cache-algorithm cache-max-size} tun.{auto-detect-interface gso
    gso-max-size auto-redirect endpoint-independent-nat}`,
  when: {
    ipv6: isTrue,
  },
  dropped: {
    'providers are not loaded: import each by its own URL': 'proxy-providers',
    'rule providers are not loaded, unless they are inline: write their rules here':
      'rule-providers.*',
    'sub-rules are not supported': 'sub-rules',
    'write them to /etc/hosts, which the resolver of the system reads': 'hosts',
    'Weir has no such listener': 'ss-config vmess-config tuic-server tunnels tls',
    [TUNING]: `
      inbound-tfo inbound-mptcp keep-alive-idle keep-alive-interval disable-keep-alive
      experimental dns.prefer-h3 tun.udp-timeout`,
    'every client has to authenticate': 'skip-auth-prefixes',
    [OTHER_API]: `
      external-controller external-controller-pipe external-controller-unix
      external-controller-tls external-controller-cors.* external-controller-cors external-ui
      external-ui-url external-ui-name secret`,
    'Weir serves DNS on a tun inbound alone': 'external-doh-server dns.listen',
    [SOURCE]: 'interface-name routing-mark',
    'name the files with --geoip and --geosite': 'geo-auto-update geox-url',
    'Weir does not look at the program that connects': `
      find-process-mode enable-process tun.{include-uid include-uid-range exclude-uid
      exclude-uid-range include-android-user include-package exclude-package}`,
    [FINGERPRINT]: 'global-client-fingerprint',
    'the clock of the system is used': 'ntp',
    'Weir takes redirected connections by a tun inbound only': 'iptables ebpf auto-redir',
    'TLS and HTTP are read on every port': 'sniffer.{sniff sniffing port-whitelist}',
    'destinations that are domains are not inspected': 'sniffer.force-domain',
    'names are used for rules alone; the destination stays as it is': 'sniffer.skip-domain',
    'all clients are inspected': 'sniffer.skip-src-address',
    'all destinations that are addresses are inspected': 'sniffer.skip-dst-address',
    'the destination stays as it is; names are for rules': 'sniffer.override-destination',
    'the resolver is asked directly, not through a server': 'dns.respect-rules',
    'Weir asks one resolver for every name':
      'dns.{fallback fallback-filter nameserver-policy proxy-server-nameserver direct-nameserver}',
    'Weir gives no fake addresses; a tun inbound reads names from TLS and HTTP':
      'dns.{enhanced-mode fake-ip-filter}',
    'Weir has a TCP/IP stack of its own': 'tun.stack',
    'make the interface the name server of the system (docs/tun.md)': 'tun.dns-hijack',
    'routes are installed in the main table': 'tun.strict-route',
    'limit what is routed into the interface by `routes`': `
      tun.{route-address-set route-exclude-address route-exclude-address-set
      inet4-route-exclude-address inet6-route-exclude-address include-interface
      exclude-interface}`,
  },
});
