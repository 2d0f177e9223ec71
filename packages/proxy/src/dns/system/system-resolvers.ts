import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ipVersion } from '@weir/io/addresses';
import { openRegularFile } from '@weir/io/files';
import { MAX_CONF_SIZE, RESOLVED_STUBS } from './host-config.ts';
import { MAX_DROP_INS, MAX_UPSTREAMS } from '../limits.ts';
import { nameServersOf } from './resolv-conf.ts';

/** A server that the system's resolver uses. */
export interface SystemResolver {
  /** The address in text; a link-local one may have a zone. */
  readonly address: string;
  /** The origin of the server's configuration. */
  readonly source: '/etc/resolv.conf' | 'systemd-resolved';
}

/**
 * Configuration folders. Later ones count less: a file replaces files of the same name in later folders
 * (resolved.conf(5)).
 */
const CONFIG_FOLDERS = ['etc', 'run', 'usr/local/lib', 'usr/lib'].map((each) => `${each}/systemd`);

/** Whether the C library itself asks systemd-resolved (nss-resolve(8)), regardless of resolv.conf. */
function asksResolvedItself(nameSwitch: string): boolean {
  const line = nameSwitch.split('\n').find((each) => /^[ \t]*hosts:/.test(each)) ?? '';
  const [sources = ''] = line.split('#', 1);
  return sources.split(/[ \t\r:[]/).includes('resolve');
}

/**
 * Returns the servers that resolve names for programs of this host: those of /etc/resolv.conf, and instead of
 * systemd-resolved its upstream servers. Files that are missing, not regular or longer than 64 KiB count
 * as empty. Never rejects.
 *
 * @param root the folder that paths start at; tests pass their own.
 */
export async function systemResolvers(root = '/'): Promise<readonly SystemResolver[]> {
  const [resolvConf, nameSwitch, upstream] = await Promise.all(
    ['etc/resolv.conf', 'etc/nsswitch.conf', 'run/systemd/resolve/resolv.conf'].map((path) =>
      textOf(join(root, path)),
    ),
  );
  const named = nameServersOf(resolvConf ?? '');
  const direct = named.map((address) => ({ address, source: '/etc/resolv.conf' }) as const);
  const asksResolved =
    named.some((address) => RESOLVED_STUBS.has(address)) || asksResolvedItself(nameSwitch ?? '');
  if (!asksResolved || upstream === undefined) return direct;
  const known = nameServersOf(upstream, MAX_UPSTREAMS);
  const only = await serversOfAllNames(root);
  const isInForce = only.length > 0 && only.every((address) => known.includes(address));
  const upstreams = (isInForce ? only : known).map(
    (address) => ({ address, source: 'systemd-resolved' }) as const,
  );
  // Without upstream servers systemd-resolved sends nothing.
  return [...direct.filter(({ address }) => !RESOLVED_STUBS.has(address)), ...upstreams];
}

/**
 * Returns the servers that systemd-resolved asks for every name in preference to those of single links
 * (resolved.conf(5): `DNS` with `~.` in `Domains`); empty if it is not configured so, or not in a supported form.
 */
async function serversOfAllNames(root: string): Promise<readonly string[]> {
  const settings = new Map<string, readonly string[]>([
    ['DNS', []],
    ['Domains', []],
  ]);
  for (const path of await configFiles(root)) {
    for (const line of (await textOf(path))?.split('\n') ?? []) {
      const at = line.indexOf('=');
      const key = line.slice(0, Math.max(at, 0)).trim();
      const before = settings.get(key);
      if (before === undefined) continue;
      const words = line.slice(at + 1).match(/\S+/g) ?? [];
      // An empty value resets the list.
      settings.set(key, words.length === 0 ? [] : [...before, ...words]);
    }
  }
  if (settings.get('Domains')?.includes('~.') !== true) return [];
  // The name in the server's certificate may follow.
  const servers = (settings.get('DNS') ?? []).map((each) => each.split('#', 1)[0] ?? '');
  return servers.every((address) => ipVersion(address) !== 0) ? servers : [];
}

/** Returns the files of resolved.conf(5) that count, in the order in which they are read. */
async function configFiles(root: string): Promise<readonly string[]> {
  const main: string[] = [];
  const dropIns = new Map<string, string>();
  for (const folder of CONFIG_FOLDERS.map((each) => join(root, each))) {
    main.push(join(folder, 'resolved.conf'));
    const parts = join(folder, 'resolved.conf.d');
    const names = await readdir(parts).catch(() => []);
    for (const name of names.filter((each) => each.endsWith('.conf')).slice(0, MAX_DROP_INS)) {
      if (!dropIns.has(name)) dropIns.set(name, join(parts, name));
    }
  }
  const texts = await Promise.all(main.map(textOf));
  const first = main.find((_, index) => texts[index] !== undefined);
  const byName = [...dropIns].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path);
  return first === undefined ? byName : [first, ...byName];
}

/** Returns the text of a file; `undefined` when it is missing, not regular or too long. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    await using file = await openRegularFile(path);
    const buffer = Buffer.alloc(MAX_CONF_SIZE + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return bytesRead > MAX_CONF_SIZE ? undefined : buffer.toString('utf8', 0, bytesRead);
  } catch {
    // A file that cannot be read counts as empty.
    return undefined;
  }
}
