import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { boundSockets, TCP_STATES } from '../../../platform/process/socket-table.ts';
import type { NameListener } from '../check/facts.ts';
import { readText } from './read-text.ts';

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
