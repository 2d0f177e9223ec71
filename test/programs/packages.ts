/**
 * Programs by other authors that try Weir, and where each comes from. A new one is one more line here;
 * one from PyPI has a file of pinned requirements with hashes in `python/` too.
 */

export type Source =
  /** A Debian package that has the command. */
  | { readonly from: 'debian'; readonly package: string }
  /** An environment of its own with `python/<requirements>.txt`; `command` is in its `bin`. */
  | { readonly from: 'pypi'; readonly requirements: string; readonly command: string }
  /** A command of a Go module, built by `go install`. */
  | { readonly from: 'go'; readonly package: string; readonly version: string }
  /** A program of our own in Go, in a folder here whose `go.sum` pins its modules; built by `go build`. */
  | { readonly from: 'go-source'; readonly folder: string }
  /** A crate with the command, built by `cargo install`. */
  | { readonly from: 'cargo'; readonly crate: string; readonly version: string };

export const PACKAGES = {
  h2spec: {
    from: 'go',
    package: 'github.com/summerwind/h2spec/cmd/h2spec',
    version: 'v2.2.1+incompatible',
  },
  h2load: { from: 'debian', package: 'nghttp2-client' },
  slowhttptest: { from: 'debian', package: 'slowhttptest' },
  wrk: { from: 'debian', package: 'wrk' },
  hey: { from: 'debian', package: 'hey' },
  h2: { from: 'pypi', requirements: 'h2', command: 'python' },
  wsproto: { from: 'pypi', requirements: 'wsproto', command: 'python' },
  sslscan: { from: 'debian', package: 'sslscan' },
  testssl: { from: 'debian', package: 'testssl.sh' },
  nmap: { from: 'debian', package: 'nmap' },
  sslyze: { from: 'pypi', requirements: 'sslyze', command: 'sslyze' },
  'tls-probes': { from: 'pypi', requirements: 'tls', command: 'python' },
  'quic-probes': { from: 'pypi', requirements: 'quic', command: 'python' },
  qh3: { from: 'pypi', requirements: 'qh3', command: 'python' },
  'quic-go': { from: 'go-source', folder: 'quic/go-client' },
  schemathesis: { from: 'pypi', requirements: 'schemathesis', command: 'schemathesis' },
  scapy: { from: 'pypi', requirements: 'scapy', command: 'python' },
  dnspython: { from: 'pypi', requirements: 'dnspython', command: 'python' },
  boofuzz: { from: 'pypi', requirements: 'boofuzz', command: 'python' },
  dnsperf: { from: 'debian', package: 'dnsperf' },
  hping3: { from: 'debian', package: 'hping3' },
  trafgen: { from: 'debian', package: 'netsniff-ng' },
  tcpreplay: { from: 'debian', package: 'tcpreplay' },
  zzuf: { from: 'debian', package: 'zzuf' },
  'atk6-thcping6': { from: 'debian', package: 'thc-ipv6' },
} as const satisfies Readonly<Record<string, Source>>;

export type ProgramName = keyof typeof PACKAGES;

export const sourceOf = (name: ProgramName): Source => PACKAGES[name];
