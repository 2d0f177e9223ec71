import { ipVersion, normalizeDomain } from '@weir/io/addresses';

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
export interface ResolvSurroundings {
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
  { localDomain, resOptions, hostname }: ResolvSurroundings,
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
