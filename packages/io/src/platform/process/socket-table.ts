import { formatIP } from '@weir/base/ip';

/** A socket in a table of /proc/net. */
export interface TableSocket {
  readonly address: string;
  readonly port: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** The state as a number of the kernel, such as in `TCP_STATES`. */
  readonly state: number;
  /** The user id of the socket's owner, as seen by this process; unknown while `inode` is 0. */
  readonly uid: number;
  /** The inode; `0` for a connection that no process has accepted yet, or holds any more. */
  readonly inode: string;
}

/** States of include/net/tcp_states.h. */
export const TCP_STATES = { established: 1, synReceived: 3, listen: 10 } as const;

/**
 * Reads lines of /proc/net/{tcp,udp}{,6} (proc_net_tcp.rst): addresses are words in the machine's byte order.
 * Lines of another form are skipped.
 *
 * @param wanted the local port.
 */
export function* boundSockets(table: string, wanted: number): Generator<TableSocket> {
  const suffix = `:${wanted.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const line of table.split('\n')) {
    const words = line
      .trim()
      .split(' ')
      .filter((word) => word !== '');
    const [, local = '', remote = '', hexState = '', , , , uid = '', , inode = ''] = words;
    if (!local.endsWith(suffix)) continue;
    const address = addressOfHex(local.slice(0, -suffix.length));
    const colon = remote.indexOf(':');
    const remoteAddress = addressOfHex(remote.slice(0, colon));
    const remotePort = Number.parseInt(remote.slice(colon + 1), 16);
    const state = Number.parseInt(hexState, 16);
    if (address === undefined || Number.isNaN(state)) continue;
    yield {
      address,
      port: wanted,
      remoteAddress: remoteAddress ?? '',
      remotePort,
      state,
      uid: uid === '' ? Number.NaN : Number(uid),
      inode,
    };
  }
}

const HEX = /^[0-9A-Fa-f]+$/;

function addressOfHex(hex: string): string | undefined {
  if ((hex.length !== 8 && hex.length !== 32) || !HEX.test(hex)) return undefined;
  const bytes = Buffer.from(hex, 'hex');
  // Both supported machines are little-endian.
  return formatIP(bytes.swap32());
}
