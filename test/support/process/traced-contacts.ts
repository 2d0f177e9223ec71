const SENT = /\b(?:connect|sendto|sendmsg|sendmmsg)\((.*)/;
/** Addresses of senders are results: they may stand in the line that completes a call. */
const RECEIVED = /\b(?:recvfrom|recvmsg|recvmmsg)(?:\(| resumed>)(.*)/;

/**
 * Where the system calls in the output of `strace -e trace=network` send something, unless it is where something has
 * come from before: `127.0.0.1:80`, `[::1]:80`, or the path of a unix socket. Netlink, which is the kernel, and
 * AF_UNSPEC, which ends an association, are left out.
 */
export function contactsIn(trace: string): Set<string> {
  const peers = new Set<string>();
  const contacts = new Set<string>();
  for (const line of trace.split('\n')) {
    for (const peer of addressesIn(RECEIVED.exec(line)?.[1] ?? '')) peers.add(peer);
    for (const address of addressesIn(SENT.exec(line)?.[1] ?? '')) {
      if (!peers.has(address)) contacts.add(address);
    }
  }
  return contacts;
}

const ADDRESS = /\{sa_family=(AF_\w+),?\s*([^}]*)\}/g;

const addressesIn = (call: string): string[] =>
  Array.from(call.matchAll(ADDRESS), ([, family = '', rest = '']) => ({ family, rest }))
    .filter(({ family }) => family !== 'AF_NETLINK' && family !== 'AF_UNSPEC')
    .map(({ family, rest }) => contactOf(family, rest));

function contactOf(family: string, rest: string): string {
  const [, port = ''] = /port=htons\((\d+)\)/.exec(rest) ?? [];
  if (family === 'AF_INET') return `${/inet_addr\("([^"]+)"\)/.exec(rest)?.[1]}:${port}`;
  if (family === 'AF_INET6') return `[${/inet_pton\(AF_INET6, "([^"]+)"/.exec(rest)?.[1]}]:${port}`;
  if (family === 'AF_UNIX') return /sun_path=@?"([^"]*)"/.exec(rest)?.[1] ?? rest;
  return `${family} ${rest}`;
}
