import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ipVersion, normalizeDomain } from '@weir/io/addresses';
import { openRegularFile } from '@weir/io/files';
import { MAX_DROP_INS, MAX_UPSTREAMS } from '../limits.ts';

/** Size in bytes beyond which files are left to the C library. */
export const MAX_CONF_SIZE = 65_536;

/** Addresses of systemd-resolved, which answers over DNS as it does as the source `resolve`. */
export const RESOLVED_STUBS: ReadonlySet<string> = new Set(['127.0.0.53', '127.0.0.54']);

/** The settings of resolv.conf(5) that are used. */
export interface ResolvConf {
  /** IP addresses in text. */
  readonly nameservers: readonly string[];
  /** Domains in which short names are looked up, in canonical form. */
  readonly search: readonly string[];
  /** Names with fewer dots than this are looked up in `search` first. */
  readonly ndots: number;
  /** Milliseconds to wait for one server, by round. */
  readonly rounds: readonly number[];
  /** Whether questions start with each server in turn. */
  readonly rotate: boolean;
  /** Whether AAAA records are never queried. */
  readonly noAaaa: boolean;
}

/** Environment variables and the host's name, which override or complete the file. */
export interface ResolvEnvironment {
  readonly localDomain: string | undefined;
  readonly resOptions: string | undefined;
  readonly hostname: string;
}

/** Limits of glibc, to which it reduces larger values. */
const MAX_NAMESERVERS = 3;
const MAX_NDOTS = 15;
const MAX_TIMEOUT = 30;
const MAX_ATTEMPTS = 5;
/** Kubernetes allows up to 32. */
const MAX_SEARCH = 32;

/** Default timeout of glibc in seconds, used when only one of timeout and attempts is set. */
const DEFAULT_TIMEOUT = 5;
const DEFAULT_ATTEMPTS = 2;
/** Rounds when neither is set: a lost datagram or a dead server should not cost 5 s. */
const DEFAULT_ROUNDS: readonly number[] = [1000, 2000, 4000];

const COMMENT = /^[#;]/;
const BLANKS = /[ \t\r]+/;

/**
 * Returns the name servers of resolv.conf(5), regardless of the rest of the file. Their addresses may have a zone.
 * @param most number of servers to return; glibc asks the first three.
 */
export function nameServersOf(text: string, most = MAX_NAMESERVERS): readonly string[] {
  const found: string[] = [];
  for (const line of text.split('\n')) {
    const [keyword, address = ''] = line.split(BLANKS, 2);
    if (keyword === 'nameserver' && ipVersion(address.split('%', 1)[0] ?? '') !== 0) {
      found.push(address);
    }
  }
  return found.slice(0, most);
}

/**
 * Parses resolv.conf(5). `undefined` when it has no name server, or uses features that are left to the C library:
 * `sortlist` and TCP only (`use-vc`).
 */
export function parseResolvConf(
  text: string,
  { localDomain, resOptions, hostname }: ResolvEnvironment,
): ResolvConf | undefined {
  const nameservers: string[] = [];
  const dot = hostname.indexOf('.');
  let search: readonly string[] = dot < 0 ? [] : [hostname.slice(dot + 1)];
  const options: string[] = [];
  for (const line of text.split('\n')) {
    if (COMMENT.test(line)) continue;
    const [keyword, ...values] = line.split(BLANKS);
    const [first = ''] = values;
    if (keyword === 'nameserver' && ipVersion(first) !== 0) nameservers.push(first);
    else if (keyword === 'domain') search = [first];
    else if (keyword === 'search') search = values;
    else if (keyword === 'options') options.push(...values);
    else if (keyword === 'sortlist') return undefined;
  }
  if (localDomain !== undefined) search = localDomain.split(BLANKS);
  options.push(...(resOptions?.split(BLANKS) ?? []));
  if (nameservers.length === 0 || options.includes('use-vc')) return undefined;
  return {
    nameservers: nameservers.slice(0, MAX_NAMESERVERS),
    search: search.slice(0, MAX_SEARCH).flatMap((each) => normalizeDomain(each) ?? []),
    ndots: Math.min(numberOf(options, 'ndots:') ?? 1, MAX_NDOTS),
    rounds: roundsOf(options),
    rotate: options.includes('rotate'),
    noAaaa: options.includes('no-aaaa'),
  };
}

function roundsOf(options: readonly string[]): readonly number[] {
  const timeout = numberOf(options, 'timeout:');
  const attempts = numberOf(options, 'attempts:');
  if (timeout === undefined && attempts === undefined) return DEFAULT_ROUNDS;
  const seconds = Math.min(Math.max(timeout ?? DEFAULT_TIMEOUT, 1), MAX_TIMEOUT);
  const rounds = Math.min(Math.max(attempts ?? DEFAULT_ATTEMPTS, 1), MAX_ATTEMPTS);
  return Array.from({ length: rounds }, () => seconds * 1000);
}

/** Returns the value of the last option of this name; `undefined` without one. */
function numberOf(options: readonly string[], name: string): number | undefined {
  const value = options.findLast((each) => each.startsWith(name))?.slice(name.length);
  return value !== undefined && /^[0-9]{1,9}$/.test(value) ? Number(value) : undefined;
}

/** Returns the names to query for `name`, in order, as res_search(3) does. */
export function searchNames(name: string, { search, ndots }: ResolvConf): readonly string[] {
  const below = search.flatMap((domain) => normalizeDomain(`${name}.${domain}`) ?? []);
  const dots = name.split('.').length - 1;
  return dots >= ndots ? [name, ...below] : [...below, name];
}

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
