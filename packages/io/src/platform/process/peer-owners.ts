import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '@weir/base';
import { formatIP, unmapIPv4 } from '@weir/base/ip';

/** A socket in a table of /proc/net. */
interface TableSocket {
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

/** Both ends of a TCP connection, as seen by one of them; addresses may be mapped, or have a zone. */
interface ConnectionEnds {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

const TABLES = ['tcp', 'tcp6'] as const;
/** Attempts to find a line, which may be missed while others come and go: the kernel returns the table in pieces. */
const ATTEMPTS = 3;
const WAITING: ReadonlySet<number> = new Set([TCP_STATES.established, TCP_STATES.synReceived]);
const NO_INODE = '0';

/**
 * Returns the users that may own the other end of an established connection to this host, as user ids of this process.
 * The kernel reports the owner once a process has accepted the connection. Until then it is in the queue of a listener,
 * which it would not outlive, so the listener's owner counts.
 * @returns empty when no socket of this network namespace is the other end; `undefined` without tables of sockets
 */
export async function peerOwners(
  ends: ConnectionEnds,
  // Unlike /proc/net this also exists if a unit has ProcSubset=pid.
  folder = '/proc/self/net',
): Promise<readonly number[] | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const owners = await findOwners(ends, folder);
    if (!owners || owners.length > 0) return owners;
  }
  return [];
}

async function findOwners(
  { localAddress, localPort, remoteAddress, remotePort = 0 }: ConnectionEnds,
  folder: string,
): Promise<readonly number[] | undefined> {
  const local = plain(localAddress);
  const remote = plain(remoteAddress);
  let end: TableSocket | undefined;
  const listeners: TableSocket[] = [];
  let isKnown = false;
  for (const table of TABLES) {
    for await (const row of rowsOf(`${folder}/${table}`, remotePort)) {
      if (row === 'read') isKnown = true;
      else if (row.state === TCP_STATES.listen) listeners.push(row);
      else if (
        row.remotePort === localPort &&
        plain(row.remoteAddress) === local &&
        plain(row.address) === remote
      ) {
        end = row;
      }
    }
  }
  if (!isKnown) return undefined;
  if (!end) return [];
  if (end.inode !== NO_INODE) return [end.uid];
  if (!WAITING.has(end.state)) return [];
  const exact = listeners.filter(({ address }) => plain(address) === remote);
  const wildcards = new Set(remote.includes(':') ? ['::'] : ['::', '0.0.0.0']);
  const queues =
    exact.length > 0 ? exact : listeners.filter(({ address }) => wildcards.has(address));
  return queues.map(({ uid }) => uid);
}

/** Returns the address without its zone. */
const plain = (address = ''): string => unmapIPv4(address.split('%', 1)[0] ?? '');

/** Yields the lines of a table with this local port, and `read` for a table that exists. */
async function* rowsOf(path: string, port: number): AsyncGenerator<TableSocket | 'read'> {
  let rest = '';
  try {
    await using file = await open(path);
    for await (const chunk of file.createReadStream({ encoding: 'latin1', autoClose: false })) {
      const text = rest + String(chunk);
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      yield* boundSockets(text.slice(0, end), port);
    }
  } catch (error) {
    // Another system than Linux, no /proc, or a kernel without IPv6.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR' || codeOf(error) === 'EACCES')
      return;
    throw error;
  }
  yield 'read';
}

/** The user id of sockets whose owner has none in this user namespace (/proc/sys/kernel/overflowuid). */
const OVERFLOW_UID = 65_534;

/**
 * Whether a user id may stand for several users: in a user namespace all users from outside share one.
 * @param map the path of /proc/self/uid_map
 */
export function isAmbiguousUser(uid: number, map = '/proc/self/uid_map'): boolean {
  if (uid !== OVERFLOW_UID) return false;
  try {
    // The first namespace maps all numbers to themselves.
    return readFileSync(map, 'latin1').trim().split(/\s+/).join(' ') !== '0 0 4294967295';
  } catch {
    return false;
  }
}

const READABLE_BY_GROUP = 0o040;
const READABLE_BY_OTHERS = 0o004;

/**
 * Whether a user may read a file because it belongs to one of the user's groups, as a service reads a configuration of
 * root. Access control lists, and users that only a directory service knows, are not considered.
 * @param accounts the folder of `passwd` and `group`; for tests
 * @returns `false` for a file that all users may read, and if anything is unknown
 */
export function mayReadByGroup(path: string, uid: number, accounts = '/etc'): boolean {
  try {
    const real = realpathSync(path);
    const groups = groupsOf(uid, accounts);
    const { mode, gid } = statSync(real);
    const isForGroup = (mode & READABLE_BY_GROUP) !== 0 && (mode & READABLE_BY_OTHERS) === 0;
    return isForGroup && groups.has(gid) && mayReach(dirname(real), uid, groups);
  } catch {
    return false;
  }
}

function mayReach(folder: string, uid: number, groups: ReadonlySet<number>): boolean {
  if (!mayEnter(statSync(folder), uid, groups)) return false;
  const above = dirname(folder);
  return above === folder || mayReach(above, uid, groups);
}

function mayEnter({ mode, uid: owner, gid }: Stats, uid: number, groups: ReadonlySet<number>) {
  if (uid === owner) return (mode & 0o100) !== 0;
  return (mode & (groups.has(gid) ? 0o010 : 0o001)) !== 0;
}

/** Returns the groups of a user: passwd(5), group(5). */
function groupsOf(uid: number, accounts: string): ReadonlySet<number> {
  const groups = new Set<number>();
  const names = new Set<string>();
  for (const [name = '', , id, group] of entriesOf(join(accounts, 'passwd'))) {
    if (id !== String(uid)) continue;
    names.add(name);
    groups.add(Number(group));
  }
  for (const [, , id, members = ''] of entriesOf(join(accounts, 'group'))) {
    if (members.split(',').some((name) => names.has(name))) groups.add(Number(id));
  }
  return groups;
}

const entriesOf = (path: string): readonly (readonly string[])[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
