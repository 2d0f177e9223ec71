import { dropped, refused, same, type KeyTable } from '../verdicts.ts';
import {
  ALPN,
  BANDWIDTH,
  CHAINED,
  CLIENT_CERTIFICATE,
  ECH,
  FINGERPRINT,
  HEADERS,
  MULTIPLEX,
  NO_RESOLVER,
  SOURCE,
  TUNING,
  UDP_OVER_TCP,
} from './reasons.ts';

/**
 * Whether a `fingerprint` names a browser, as in documents older than `client-fingerprint`; mihomo rejects it as a
 * hash.
 */
export const isBrowser = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^(?:chrome|firefox|safari|ios|android|edge|360|qq|random|randomized)$/i.test(value);

const WITHOUT_UDP = dropped('UDP is sent too; limit it by `network` in a rule');

/** Keys of the proxies of mihomo (`adapter/outbound/*.go`, ccc3f84) that are not carried over. */
export const CLASH_KEYS: KeyTable = {
  'dialer-proxy': CHAINED,
  tfo: TUNING,
  mptcp: TUNING,
  'interface-name': SOURCE,
  'routing-mark': SOURCE,
  smux: MULTIPLEX,
  // Read for protocols with transports.
  network: same((value) => value === 'tcp'),
  udp: { kind: 'same', when: (value) => value === 'true' || value === true },
  'packet-addr': same(),
  xudp: same(),
  'packet-encoding': same(),
  'global-padding': dropped('padding is added as the options of the protocol say'),
  'authenticated-length': same(),
  'client-fingerprint': FINGERPRINT,
  alpn: ALPN,
  // Trojan always has TLS, and ignores the key.
  tls: same(),
  // Read only with TLS.
  servername: same(),
  sni: same(),
  'skip-cert-verify': same(),
  fingerprint: same((value) => !isBrowser(value)),
  'reality-opts': same(),
  'ech-opts': ECH,
  certificate: CLIENT_CERTIFICATE,
  'private-key-file': CLIENT_CERTIFICATE,
  'udp-over-tcp': UDP_OVER_TCP,
  'udp-over-tcp-version': same(),
  'plugin-opts': same(),
  'ss-opts': refused('Shadowsocks inside of Trojan is not supported'),
  'http-opts': same(),
  'h2-opts': same(),
  'ws-path': refused('it is an older way to write ws-opts; write it there'),
  'ws-headers': refused('it is an older way to write ws-opts; write it there'),
  'ws-opts.headers.*': HEADERS,
  'ws-opts.v2ray-http-upgrade-fast-open': same(),
  headers: HEADERS,
  up: BANDWIDTH,
  down: BANDWIDTH,
  'hop-interval': same(),
  'ca-str': refused('write the CA to a file, and its name as ca_file'),
  cwnd: TUNING,
  'udp-mtu': TUNING,
  'initial-stream-receive-window': TUNING,
  'max-stream-receive-window': TUNING,
  'initial-connection-receive-window': TUNING,
  'max-connection-receive-window': TUNING,
  workers: TUNING,
  'amnezia-wg-option': refused('AmneziaWG is not supported'),
  'remote-dns-resolve': NO_RESOLVER,
  dns: NO_RESOLVER,
  'refresh-server-ip-interval': TUNING,
  'disable-udp': WITHOUT_UDP,
};
