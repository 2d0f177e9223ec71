import { access, constants, readdir, readFile, readlink, lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { addressInNetwork, ipVersion } from '@weir/base/ip';
import {
  boundSockets,
  type MachineNetwork,
  type MachineRoute,
  NetlinkSocket,
  readMachineNetwork,
  RT_TABLE_MAIN,
  TCP_STATES,
} from '@weir/io/netlink';
import { openSystemCalls } from '@weir/io/service';
import { systemResolvers } from '@weir/proxy/dns/system';
import { codeOf } from '@weir/base';
import {
  type CheckedInbound,
  type MachineFacts,
  type Unread,
  type NameListener,
  overlap,
  type ResolverFacts,
} from '../check/machine.ts';
import { readRuleset, type FirewallFacts } from '../check/firewall.ts';
import { nameServersOf } from '@weir/proxy/dns/system';
import { openRegularFile } from '@weir/io/files';

/**
 * Reads the state of this machine, as far as the user may.
 *
 * @param inbounds their networks decide which routes are kept
 * @throws {SystemError} without netlink
 */
export async function readMachine(
  inbounds: readonly CheckedInbound[],
  env: Readonly<Record<string, string | undefined>>,
  root = '/',
): Promise<MachineFacts> {
  const servers = (await systemResolvers(root))
    .map(({ address }) => address.split('%', 1)[0] ?? '')
    .filter((address) => ipVersion(address) !== 0);
  const networks = inbounds.flatMap(({ addresses, routes }) => [
    ...addresses,
    // Routes longer than the two halves of an address space; default routes are kept anyway.
    ...routes.filter(({ prefix }) => prefix > 1),
  ]);
  const concerns = ({ network }: MachineRoute): boolean =>
    networks.some((own) => overlap(own, network)) ||
    servers.some((address) => addressInNetwork(address, network));
  using netlink = new NetlinkSocket(openSystemCalls());
  const network = readMachineNetwork(
    netlink,
    (route) => route.network.prefix <= 1 || (route.table === RT_TABLE_MAIN && concerns(route)),
  );
  const { firewall, unread } = await readFirewall(root, env);
  const names = new Map(network.links.map(({ index, name }) => [index, name]));
  const rights = rightsOf((await readText(root, 'proc/self/status')) ?? '');
  const lowest = Number(await readText(root, 'proc/sys/net/ipv4/ip_unprivileged_port_start'));
  return {
    network,
    settings: await readSettings(root, network),
    deviceFile: await deviceFile(root),
    rights: rights && { ...rights, bindService: rights.bindService || lowest <= 53 },
    listeners: await nameListeners(root),
    resolver: await readResolver(root, (index) => names.get(index)),
    firewall,
    unread: [
      ...unread,
      ...network.cut.map((what): Unread => ({
        what,
        reason: 'there are too many; only a part was read',
      })),
    ],
  };
}

const SETTINGS = [
  'net.ipv4.ip_forward',
  'net.ipv4.conf.all.rp_filter',
  'net.ipv4.conf.default.rp_filter',
  'net.ipv6.conf.all.forwarding',
  'net.ipv6.conf.default.disable_ipv6',
];

async function readSettings(
  root: string,
  { links, routes }: MachineNetwork,
): Promise<ReadonlyMap<string, string>> {
  // Only interfaces of default routes matter; a host may have thousands of others.
  const uplinks = new Set(
    routes.filter(({ network }) => network.prefix === 0).flatMap(({ devices }) => devices),
  );
  const names = links.filter(({ index }) => uplinks.has(index)).map(({ name }) => name);
  const paths = new Map(SETTINGS.map((name) => [name, name.replaceAll('.', '/')]));
  for (const name of names) {
    // The name of an interface may contain a dot.
    paths.set(`net.ipv4.conf.${name}.rp_filter`, `net/ipv4/conf/${name}/rp_filter`);
    paths.set(`net.ipv6.conf.${name}.accept_ra`, `net/ipv6/conf/${name}/accept_ra`);
  }
  const settings = new Map<string, string>();
  for (const [name, path] of paths) {
    const value = await readText(root, join('proc/sys', path), 64);
    if (value !== undefined) settings.set(name, value.trim());
  }
  return settings;
}

async function deviceFile(root: string): Promise<MachineFacts['deviceFile']> {
  try {
    await access(join(root, 'dev/net/tun'), constants.R_OK | constants.W_OK);
    return 'usable';
  } catch (error) {
    return codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM' ? 'forbidden' : 'missing';
  }
}

// Numbers of include/uapi/linux/capability.h.
const CAP_NET_BIND_SERVICE = 10n;
const CAP_NET_ADMIN = 12n;

/** The effective capabilities in /proc/self/status; `undefined` if there are none. */
export function rightsOf(status: string): MachineFacts['rights'] {
  const line = status.split('\n').find((each) => each.startsWith('CapEff:'));
  const hex = line?.slice('CapEff:'.length).trim() ?? '';
  if (!/^[0-9a-f]{1,16}$/.test(hex)) return undefined;
  const set = BigInt(`0x${hex}`);
  const has = (capability: bigint): boolean => ((set >> capability) & 1n) === 1n;
  return { netAdmin: has(CAP_NET_ADMIN), bindService: has(CAP_NET_BIND_SERVICE) };
}

const TIME_LIMIT_MS = 5000;
const MOST_OUTPUT = 16 << 20;

/** Reads the nftables rules through the program `nft`: the kernel provides them only to root, and piecemeal. */
async function readFirewall(
  root: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly firewall: FirewallFacts | undefined; readonly unread: readonly Unread[] }> {
  const unread: Unread[] = [];
  const { text, reason } = await listRuleset(env);
  const firewall = text === undefined ? undefined : readRuleset(text);
  if (!firewall) {
    unread.push({ what: 'rules of the firewall (nft)', reason: reason ?? 'not a ruleset' });
  }
  const legacy = await readText(root, 'proc/net/ip_tables_names');
  if (legacy?.split('\n').includes('filter') === true) {
    const place = '/proc/net/ip_tables_names';
    unread.push({ what: 'rules of iptables-legacy', reason: `${place} names the table filter` });
  }
  return { firewall, unread };
}

/** Runs `nft` with fixed arguments; the usual directories of administration programs are appended to PATH. */
async function listRuleset(
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly text?: string; readonly reason?: string }> {
  const { promise, resolve } = Promise.withResolvers<{ text?: string; reason?: string }>();
  const options = {
    env: { PATH: `${env['PATH'] ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' },
    timeout: TIME_LIMIT_MS,
    killSignal: 'SIGKILL',
    maxBuffer: MOST_OUTPUT,
  } as const;
  execFile('nft', ['-j', 'list', 'ruleset'], options, (error, stdout, stderr) => {
    if (!error) resolve({ text: stdout });
    else if (error.code === 'ENOENT') resolve({ reason: 'nft is not installed' });
    else resolve({ reason: stderr.split('\n', 1)[0] || error.message });
  });
  return promise;
}

export { boundSockets };

/** A host with hundreds of thousands of connections has a line for each. */
const MOST_TABLE_BYTES = 16 << 20;
const NAMES_PORT = 53;

/** The sockets on port 53 of this network namespace. */
export async function nameListeners(root: string): Promise<readonly NameListener[]> {
  const found = new Map<string, Omit<NameListener, 'program'> & { readonly inode: string }>();
  for (const [file, network] of [
    ['tcp', 'tcp'],
    ['tcp6', 'tcp'],
    ['udp', 'udp'],
    ['udp6', 'udp'],
  ] as const) {
    const table = (await readText(root, `proc/net/${file}`, MOST_TABLE_BYTES)) ?? '';
    for (const { address, state, inode } of boundSockets(table, NAMES_PORT)) {
      if (network === 'tcp' && state !== TCP_STATES.listen) continue;
      found.set(`${network} ${address}`, { address, network, inode });
    }
  }
  if (found.size === 0) return [];
  const programs = await programsOf(root, new Set([...found.values()].map(({ inode }) => inode)));
  return [...found.values()].map(({ inode, ...listener }) => ({
    ...listener,
    program: programs.get(inode),
  }));
}

/** Maximum numbers of processes and descriptors that are searched for the owner of a socket. */
const MOST_PROCESSES = 8192;
const MOST_DESCRIPTORS = 65_536;

/** The names of the programs that own sockets, as far as their descriptors may be read. */
async function programsOf(
  root: string,
  inodes: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const programs = new Map<string, string>();
  const processes = (await readdir(join(root, 'proc')).catch(() => [])).filter((name) =>
    /^\d+$/.test(name),
  );
  let left = MOST_DESCRIPTORS;
  for (const pid of processes.slice(0, MOST_PROCESSES)) {
    const folder = join(root, 'proc', pid);
    for (const descriptor of await readdir(join(folder, 'fd')).catch(() => [])) {
      if (left-- <= 0 || programs.size === inodes.size) return programs;
      const target = await readlink(join(folder, 'fd', descriptor)).catch(() => '');
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode === undefined || !inodes.has(inode)) continue;
      const name = await readFile(join(folder, 'comm'), 'utf8').catch(() => '');
      if (name !== '') programs.set(inode, name.trim());
    }
  }
  return programs;
}

/** Maximum number of files that are read in a directory. */
const MOST_FILES = 256;

/** Reads the configuration of this machine's resolver. Never rejects. */
export async function readResolver(
  root: string,
  linkName: (index: number) => string | undefined,
): Promise<ResolverFacts> {
  const text = (await readText(root, 'etc/resolv.conf')) ?? '';
  return {
    servers: await systemResolvers(root),
    named: nameServersOf(text),
    link: await linkOf(join(root, 'etc/resolv.conf')),
    writer: writerOf(text),
    sources: nameSources((await readText(root, 'etc/nsswitch.conf')) ?? ''),
    perLink: await linkServers(root, linkName),
    hasNetworkManager: await exists(join(root, 'run/NetworkManager')),
    unmanaged: await unmanagedDevices(root),
  };
}

/** The target of a link; empty for a file, `undefined` if the path does not exist. */
async function linkOf(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : '';
  } catch {
    return undefined;
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The program that names itself in the comments of a resolv.conf. */
export function writerOf(text: string): ResolverFacts['writer'] {
  for (const line of text.split('\n')) {
    if (!line.startsWith('#') && !line.startsWith(';')) continue;
    if (line.includes('Generated by NetworkManager')) return 'NetworkManager';
    // Debian's resolvconf does not change a plain file; only openresolv has a recipe of its own.
    if (line.includes('Generated by resolvconf')) return 'resolvconf';
  }
  return undefined;
}

/** The sources of host names in nsswitch.conf(5), without actions in brackets. */
export function nameSources(text: string): readonly string[] {
  const line = text.split('\n').find((each) => each.trimStart().startsWith('hosts:')) ?? '';
  const [words = ''] = line.slice(line.indexOf(':') + 1).split('#', 1);
  const sources: string[] = [];
  let isAction = false;
  for (const word of words
    .replaceAll('[', ' [')
    .replaceAll(']', '] ')
    .split(/[ \t\r]/)) {
    if (word.startsWith('[')) isAction = true;
    if (!isAction && word !== '') sources.push(word);
    if (word.endsWith(']')) isAction = false;
  }
  return sources;
}

/**
 * The servers of individual links in the state files of systemd-networkd and systemd-resolved, which consist of
 * `KEY=value` lines and are named after the index of the link.
 */
async function linkServers(
  root: string,
  linkName: (index: number) => string | undefined,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const folder of ['run/systemd/resolve/netif', 'run/systemd/netif/links']) {
    const names = await readdir(join(root, folder)).catch(() => []);
    for (const name of names.slice(0, MOST_FILES)) {
      if (!/^\d+$/.test(name)) continue;
      const servers = stateServers((await readText(root, join(folder, name))) ?? '');
      if (servers.length > 0) {
        found.add(`${linkName(Number(name)) ?? name}: ${servers.join(' ')}`);
      }
    }
  }
  return [...found];
}

/** The servers in a state file. */
export function stateServers(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('SERVERS=') || line.startsWith('DNS='))
    .flatMap((line) => line.slice(line.indexOf('=') + 1).split(/[ \t\r]/))
    .filter((word) => word !== '');
}

/**
 * Directories of NetworkManager.conf(5); a file in a later one replaces the file of the same name in an earlier one.
 */
const MANAGER_FOLDERS = ['usr/lib', 'run', 'etc'].map((each) => `${each}/NetworkManager/conf.d`);

async function unmanagedDevices(root: string): Promise<readonly string[]> {
  const files = new Map<string, string>();
  for (const folder of MANAGER_FOLDERS) {
    const names = await readdir(join(root, folder)).catch(() => []);
    for (const name of names.slice(0, MOST_FILES)) {
      if (name.endsWith('.conf')) files.set(name, join(folder, name));
    }
  }
  const inOrder = [...files].sort(([one], [other]) => (one < other ? -1 : 1));
  let devices: readonly string[] = [];
  for (const path of [
    'etc/NetworkManager/NetworkManager.conf',
    ...inOrder.map(([, each]) => each),
  ]) {
    devices = withUnmanaged(devices, (await readText(root, path)) ?? '');
  }
  return devices;
}

/** Applies a file to the list: `unmanaged-devices` of `[keyfile]` sets it, `+=` appends to it. */
export function withUnmanaged(before: readonly string[], text: string): readonly string[] {
  let devices = before;
  let section = '';
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line.startsWith('[')) section = line;
    const at = line.indexOf('=');
    if (section !== '[keyfile]' || at < 0) continue;
    const adds = line[at - 1] === '+';
    const key = line.slice(0, adds ? at - 1 : at).trim();
    if (key !== 'unmanaged-devices') continue;
    const listed = line
      .slice(at + 1)
      .split(/[;,]/)
      .map((each) => each.trim());
    devices = [...(adds ? devices : []), ...listed.filter((each) => each !== '')];
  }
  return devices;
}

/** Maximum bytes of a configuration file that are read. */
const MOST_BYTES = 64 << 10;

/**
 * Reads the beginning of a file below `root`, including one in /proc, which has no size; `undefined` when the file does
 * not exist, may not be read, or is not regular.
 *
 * @param most maximum bytes to read
 */
export async function readText(
  root: string,
  path: string,
  most = MOST_BYTES,
): Promise<string | undefined> {
  try {
    await using file = await openRegularFile(join(root, path));
    const chunks: Buffer[] = [];
    let size = 0;
    while (size < most) {
      const chunk = Buffer.alloc(Math.min(64 << 10, most - size));
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) break;
      chunks.push(chunk.subarray(0, bytesRead));
      size += bytesRead;
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch {
    // Unreadable files are unknown facts, which the findings take into account.
    return undefined;
  }
}
