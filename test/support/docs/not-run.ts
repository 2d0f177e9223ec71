/**
 * Programs of the pages that no test runs: what they change is the machine, or another host. Each with the reason, and
 * with what stands in for it.
 */
export const NOT_RUN: ReadonlyMap<string, string> = new Map([
  ['acme.sh', 'needs a public name and a certificate authority'],
  [
    'apt',
    'installs on the machine; test/packaging/debian.test.ts installs the package in a root of its own',
  ],
  ['certbot', 'needs a public name and a certificate authority'],
  ['diff', 'needs two builds; test/packaging/repeated.test.ts makes and compares them'],
  ['git', 'tags and publishes a release'],
  ['gpg', 'needs the key of the releases'],
  ['install', 'writes to /usr/local/bin'],
  [
    'ip',
    'changes routes; test/scenarios/tun-recipes.test.ts runs the recipes of docs/tun.md in a network of their own',
  ],
  ['journalctl', 'reads the journal of an installed service'],
  ['minisign', 'needs the key of the releases'],
  [
    'nft',
    'changes the firewall; test/scenarios/tun-recipes.test.ts runs the recipes of docs/tun.md in a network of their own',
  ],
  [
    'nmcli',
    'test/interop/tun-resolvers.test.ts runs the recipes of docs/tun.md in a system of their own',
  ],
  ['openssl', 'needs a server with a name; it prints a certificate and its hash'],
  ['podman', 'needs a container engine'],
  [
    'resolvconf',
    'test/interop/tun-resolvers.test.ts runs the recipes of docs/tun.md in a system of their own',
  ],
  ['sha256sum', 'needs built packages; test/packaging/executable.test.ts builds them'],
  ['socat', 'speaks to a running HAProxy; test/interop/haproxy.test.ts sends the same commands'],
  [
    'ssh',
    'needs another host; test/scenarios/dashboard-access.test.ts reaches the dashboard through a port that is forwarded',
  ],
  ['sudoedit', 'opens an editor'],
  [
    'sysctl',
    'changes the kernel; test/interop/tun.test.ts routes a network with the same settings',
  ],
  [
    'systemctl',
    'needs systemd; test/scenarios/service-unit.test.ts checks the unit, service-notify.test.ts the messages',
  ],
  [
    'systemd-socket-activate',
    'needs systemd; test/scenarios/passed-sockets.test.ts passes sockets',
  ],
  ['ufw', 'changes the firewall of the machine'],
  ['wl-paste', 'reads the clipboard of a desktop'],
]);

/** Programs with files of their page as input: they run, or would, after a command that is looked at. */
export const PLAIN_TOOLS: ReadonlySet<string> = new Set([
  'cd',
  'chmod',
  'echo',
  'jq',
  'mkdir',
  'mv',
  'printf',
  'rm',
  'sort',
  'tar',
  'tee',
  'uniq',
]);
