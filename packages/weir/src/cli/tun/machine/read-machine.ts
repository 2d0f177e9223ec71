import { access, constants, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { addressInNetwork, ipVersion } from '@weir/base/ip';
import {
  type MachineNetwork,
  type MachineRoute,
  NetlinkSocket,
  readMachineNetwork,
  RT_TABLE_MAIN,
} from '@weir/io/netlink';
import { openSystemCalls } from '@weir/io/service';
import { systemResolvers } from '@weir/proxy/dns/system';
import { codeOf } from '@weir/base';
import { boundSockets, TCP_STATES } from '@weir/io/peers';
import type { CheckedInbound, MachineFacts, NameListener, Unread } from '../check/facts.ts';
import { overlap } from '../check/machine.ts';
import { readResolver, readText } from './resolver.ts';
import { type FirewallFacts, readRuleset } from '../check/firewall.ts';

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
