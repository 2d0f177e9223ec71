import { RegexCache } from '@weir/proxy/names';
import { WeirError } from '@weir/base';
import { ipVersion } from '@weir/io/addresses';
import { quoted, printable } from '@weir/base/printable';
import { serverIn } from '@weir/proxy/protocols/forms/clash';
import { ImportError, type Draft } from '@weir/proxy/protocols/forms';
import { ForeignObject } from '@weir/proxy/protocols/forms';
import { allForms } from '@weir/proxy/protocols';
import { nameOf, readEntries, type EntryReader } from '../entry.ts';
import { CLASH_DOCUMENT_KEYS, CLASH_KEYS, CLASH_GROUP_KEYS } from '../keys/clash.ts';
import {
  type DefaultRoute,
  type DocumentKey,
  type Routing,
  type RuleEntry,
  type Target,
  type ForeignGroup,
  type TakenServers,
  type DnsDraft,
  bounded,
  refuseMany,
  TargetNames,
  groupOrReason,
  MemberBudget,
} from '../routing.ts';
import { fromDotNet } from '../values/expressions.ts';
import { keysOf, notesOn } from '../verdicts.ts';
import { readInbounds } from './inbounds.ts';
import { CATCH_ALL, partsOf, readRules } from './rules.ts';

const READER: EntryReader = {
  name: 'name',
  verdicts: CLASH_KEYS,
  read: readProxy,
  family: familyOf,
};

const FAMILIES: ReadonlyMap<string, string | undefined> = new Map([
  ['', undefined],
  ['dual', undefined],
  ['ipv4', 'ipv4_only'],
  ['ipv6', 'ipv6_only'],
  ['ipv4-prefer', 'prefer_ipv4'],
  ['ipv6-prefer', 'prefer_ipv6'],
]);

/** The address family of a proxy. @throws {ImportError} for an unknown version */
function familyOf(fields: ForeignObject): string | undefined {
  const version = fields.text('ip-version') ?? '';
  if (FAMILIES.has(version)) return FAMILIES.get(version);
  throw new ImportError(`the ip-version ${JSON.stringify(version)} is unknown`);
}

function readProxy(fields: ForeignObject): Draft {
  const type = fields.text('type') ?? '';
  const name = fields.text('name') ?? '';
  const form = allForms().find(({ clash }) => clash?.type === type)?.clash;
  if (form) return form.read(fields, name);
  serverIn(fields, name); // an entry without a server is reported as such, whatever its type
  throw new ImportError(`the type ${JSON.stringify(type)} is not supported`);
}

/** Clash's built-in outbounds. */
const BUILT_IN: ReadonlyMap<string, Target> = new Map([
  ['DIRECT', { kind: 'direct' }],
  ['COMPATIBLE', { kind: 'direct' }],
  ['REJECT', { kind: 'blackhole' }],
  ['REJECT-DROP', { kind: 'blackhole' }],
]);

/** Key names of older versions, by their current ones. */
const OLD_KEYS = { proxies: 'Proxy', 'proxy-groups': 'Proxy Group', rules: 'Rule' } as const;

const PARTS = { proxies: 'servers', 'proxy-groups': 'groups', rules: 'rules' } as const;

/** Checks the length of a list of the document while it is parsed. @throws {ImportError} */
export function refuseLongList(key: string, length: number): void {
  for (const part of ['proxies', 'proxy-groups', 'rules'] as const) {
    if (key === part || key === OLD_KEYS[part]) refuseMany(PARTS[part], length);
  }
}

/** The list at a key, or at its older name. */
const listOf = (document: ForeignObject, key: keyof typeof OLD_KEYS): readonly unknown[] =>
  document.states(key) ? document.entries(key) : document.entries(OLD_KEYS[key]);

/** Weir's log levels for those of Clash. */
const LEVELS: ReadonlyMap<string, string> = new Map([
  ['silent', 'off'],
  ['error', 'error'],
  ['warning', 'warn'],
  ['info', 'info'],
  ['debug', 'debug'],
]);

/** Reads a configuration of Clash or mihomo. */
export function readClash(document: ForeignObject): Routing {
  const proxies = bounded('servers', listOf(document, 'proxies'));
  const written = bounded('rules', listOf(document, 'rules'));
  const groups = bounded('groups', listOf(document, 'proxy-groups'));
  const names = new TargetNames({
    entries: proxies.map((each) => nameOf(each, 'name')),
    groups: groups.map((each) => nameOf(each, 'name')),
    builtIn: BUILT_IN,
  });
  const { dns, keys } = readDns(document.fields('dns'));
  const mode = modeOf(document);
  const level = document.text('log-level');
  const inbounds = readInbounds(document);
  const providers = document.fields('rule-providers');
  return {
    entries: readEntries(proxies, READER),
    groups: readGroups(groups, proxies, names, document.states('proxy-providers')),
    rules: mode === 'rule' ? readRules(written, names, providers) : unusedRules(written, mode),
    standard: defaultOf(mode, written, names),
    inbounds,
    dns,
    logLevel: level === undefined ? undefined : LEVELS.get(level),
    keys: [...keys, ...modeKeys(mode, names), ...keysOf(document, CLASH_DOCUMENT_KEYS)],
  };
}

type Mode = 'rule' | 'global' | 'direct';

function modeOf(document: ForeignObject): Mode {
  const mode = (document.text('mode') ?? '').toLowerCase();
  return mode === 'global' || mode === 'direct' ? mode : 'rule';
}

function modeKeys(mode: Mode, names: TargetNames): readonly DocumentKey[] {
  if (mode !== 'global' || names.of('GLOBAL').kind !== 'missing') return [];
  const reason = 'the server chosen in GLOBAL is not in the document; the first one is used';
  return [{ path: 'mode', status: 'skipped', reason }];
}

/** Rules of a document in a mode other than `rule`, in which they have no effect. */
const unusedRules = (rules: readonly unknown[], mode: Mode): readonly RuleEntry[] =>
  rules.map((rule) => ({
    source: typeof rule === 'string' ? rule.slice(0, 200) : typeof rule,
    needless: `rules have no effect in the mode "${mode}"`,
  }));

/** The target of the rule that matches everything; without such a rule Clash connects directly. */
function defaultOf(mode: Mode, rules: readonly unknown[], names: TargetNames): DefaultRoute {
  if (mode === 'direct') return { kind: 'direct' };
  if (mode === 'global') {
    const target = names.of('GLOBAL');
    return target.kind === 'missing' ? { kind: 'unstated' } : target;
  }
  if (rules.length === 0) return { kind: 'unstated' };
  const last = rules.find((rule) => typeof rule === 'string' && isCatchAll(rule));
  return typeof last === 'string' ? names.of(partsOf(last).target) : { kind: 'direct' };
}

const isCatchAll = (rule: string): boolean =>
  rule.includes(',') && CATCH_ALL.has((rule.split(',', 1)[0] ?? '').trim().toUpperCase());

/** The properties of a proxy that filters of groups compare. */
interface Named {
  readonly name: string;
  readonly type: string;
}

const STRATEGIES: ReadonlyMap<string, ForeignGroup['strategy']> = new Map([
  ['select', 'select'],
  ['url-test', 'failover'],
  ['fallback', 'failover'],
  ['load-balance', 'round_robin'],
]);

/**
 * Reads `proxy-groups`.
 * @param proxies in the order of the document
 * @param hasProviders whether the document has `proxy-providers`
 */
function readGroups(
  groups: readonly unknown[],
  proxies: readonly unknown[],
  names: TargetNames,
  hasProviders: boolean,
): readonly ForeignGroup[] {
  const budget = new MemberBudget();
  const named = proxies.map((each) => ({ name: nameOf(each, 'name'), type: nameOf(each, 'type') }));
  // In mihomo's order for groups that include all proxies.
  const sorted = named.toSorted((one, other) =>
    Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)),
  );
  const types = new Map(named.map(({ name, type }) => [name, type]));
  return groups.map((each) => {
    const name = nameOf(each, 'name');
    return groupOrReason(name, () =>
      groupOf(name, new ForeignObject(each), { sorted, types, names, budget, hasProviders }),
    );
  });
}

/** What the groups of a document have in common. */
interface GroupContext {
  readonly sorted: readonly Named[];
  readonly types: ReadonlyMap<string, string>;
  readonly names: TargetNames;
  readonly budget: MemberBudget;
  readonly hasProviders: boolean;
}

function groupOf(name: string, fields: ForeignObject, all: GroupContext): ForeignGroup {
  const type = fields.text('type') ?? '';
  if (type === 'relay') throw new ImportError('a chain of servers is not supported');
  const strategy = STRATEGIES.get(type);
  if (!strategy) throw new ImportError(`the type ${quoted(type)} is not supported`);
  const notes: string[] = [];
  if (type === 'url-test') notes.push(FIRST_THAT_WORKS);
  const own = fields.list('proxies').filter((member) => typeof member === 'string');
  const filters = filtersOf(fields, 'filter');
  const excluded = filtersOf(fields, 'exclude-filter');
  const found = [...own, ...included(fields, all, filters, notes)];
  const members = kept(found, fields, all, excluded, notes);
  const providers = fields.list('use');
  const usesProviders =
    providers.length > 0 ||
    (all.hasProviders &&
      [fields.flag('include-all'), fields.flag('include-all-providers')].includes(true));
  if (usesProviders) notes.push(PROVIDERS);
  return {
    name,
    strategy,
    members: members.map((member) => all.names.of(member)),
    interval: strategy === 'select' ? undefined : intervalOf(fields),
    takes: takenBy(fields, { filters, excluded, isListing: own.length > 0 }),
    notes: [...notes, ...notesOn(fields, CLASH_GROUP_KEYS)],
    skipped: members.length === 0 && usesProviders ? PROVIDERS : undefined,
  };
}

const FIRST_THAT_WORKS = 'the first server that works is used, not the fastest';
const PROVIDERS =
  'servers of proxy-providers are not loaded; import each provider by its own URL instead';

/** Seconds between probes; 300 by default, as in mihomo. */
function intervalOf(fields: ForeignObject): number {
  const interval = fields.number('interval') ?? 0;
  return interval > 0 ? interval : 300;
}

/** Expressions of a group; a name matches if any of them does. */
interface Filters {
  /** In Rust's dialect; empty if there are none. */
  readonly expressions: readonly string[];
  readonly matches: (name: string) => boolean;
}

/** The expressions at a key; `undefined` if Rust's dialect, which matches in linear time, cannot express them. */
function filtersOf(fields: ForeignObject, key: 'filter' | 'exclude-filter'): Filters | undefined {
  const text = fields.text(key) ?? '';
  try {
    const written = text === '' ? [] : key === 'filter' ? text.split('`') : [text];
    const expressions = [...new Set(written.map((pattern) => fromDotNet(pattern)))];
    if (expressions.length === 0) return { expressions, matches: () => false };
    const set = new RegexCache().compile(expressions);
    return { expressions, matches: (name) => set.matches(name).length > 0 };
  } catch (error) {
    if (error instanceof WeirError) return undefined;
    throw error;
  }
}

/** The proxies of `include-all-proxies`, in the order of their names. */
function included(
  fields: ForeignObject,
  all: GroupContext,
  filters: Filters | undefined,
  notes: string[],
): readonly string[] {
  const isAsked = [fields.flag('include-all'), fields.flag('include-all-proxies')].includes(true);
  if (!isAsked) return [];
  all.budget.spend(all.sorted.length);
  if (!filters) {
    notes.push(`"filter" is not an expression that Weir can apply: nothing is included by it`);
    return [];
  }
  const { expressions, matches } = filters;
  return all.sorted
    .filter(({ name }) => expressions.length === 0 || matches(name))
    .map(({ name }) => name);
}

/**
 * The servers that a group includes without naming them; `undefined` if it names all of its members, or the servers are
 * unknown.
 */
function takenBy(
  fields: ForeignObject,
  {
    filters,
    excluded,
    isListing,
  }: {
    readonly filters: Filters | undefined;
    readonly excluded: Filters | undefined;
    readonly isListing: boolean;
  },
): TakenServers | undefined {
  const [includesAll, includesProviders, includesProxies] = [
    fields.flag('include-all'),
    fields.flag('include-all-providers'),
    fields.flag('include-all-proxies'),
  ];
  const providers = fields.list('use').filter((name) => typeof name === 'string');
  const usesAll = includesAll || includesProviders || includesProxies;
  if (!filters || (!usesAll && providers.length === 0)) return undefined;
  return {
    from: usesAll ? 'all' : providers,
    isListing,
    filters: filters.expressions,
    excluded: excluded?.expressions ?? [],
    excludedProtocols: excludedTypes(fields).map((type) => PROTOCOLS.get(type) ?? type),
  };
}

/** Weir's protocols for types that mihomo names differently, in lower case. */
const PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ['ss', 'shadowsocks'],
  ['socks5', 'socks'],
]);

const excludedTypes = (fields: ForeignObject): readonly string[] =>
  (fields.text('exclude-type') ?? '')
    .toLowerCase()
    .split('|')
    .filter((type) => type !== '');

/** The members that `exclude-filter` and `exclude-type` retain. */
function kept(
  members: readonly string[],
  fields: ForeignObject,
  all: GroupContext,
  excluded: Filters | undefined,
  notes: string[],
): readonly string[] {
  all.budget.spend(members.length);
  const types = excludedTypes(fields);
  if (!excluded) {
    notes.push('"exclude-filter" is not an expression that Weir can apply: all members are kept');
  }
  return members.filter((name) => {
    const type = all.types.get(name)?.toLowerCase();
    return !excluded?.matches(name) && (type === undefined || !types.includes(type));
  });
}

/** `[dns]`, and a report on each server. */
interface DnsReading {
  readonly dns?: DnsDraft | undefined;
  readonly keys: readonly DocumentKey[];
}

const MOST_SERVERS = 100;

/** Reads `dns.nameserver`: Weir uses the first server that it supports. */
export function readDns(dns: ForeignObject): DnsReading {
  const servers = dns.entries('nameserver').slice(0, MOST_SERVERS);
  if (!dns.flag('enable')) {
    return servers.length === 0 ? { keys: [] } : { keys: [{ path: 'dns', ...OFF }] };
  }
  const keys: DocumentKey[] = [];
  let chosen: DnsDraft | undefined;
  for (const [index, server] of servers.entries()) {
    const path = `dns.nameserver[${index}]`;
    if (chosen) {
      keys.push({ path, status: 'skipped', reason: 'Weir asks one server' });
      continue;
    }
    try {
      chosen = dnsServerOf(typeof server === 'string' ? server : '');
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      keys.push({ path, status: 'skipped', reason: error.message });
    }
  }
  if (!chosen) keys.push({ path: 'dns', status: 'skipped', reason: NO_SERVER });
  return { dns: chosen, keys };
}

const OFF = {
  status: 'same',
  reason: 'it is not enabled: the resolver of the system is used',
} as const;
const NO_SERVER = 'none of its servers can be used; the resolver of the system is asked';

const PORTS: ReadonlyMap<string, { readonly backend: 'udp' | 'tls' | 'https'; port: number }> =
  new Map([
    ['udp', { backend: 'udp', port: 53 }],
    ['tls', { backend: 'tls', port: 853 }],
    ['https', { backend: 'https', port: 443 }],
  ]);

/**
 * Parses a name server in the syntax of Clash and sing-box: `223.5.5.5`, `udp://…`, `tls://…`, `https://…`.
 * @throws {ImportError} for a server that Weir does not support
 */
export function dnsServerOf(text: string): DnsDraft {
  const [address = '', ...fragment] = text.trim().split('#');
  if (fragment.join('#') !== '') {
    throw new ImportError('it is asked through a server, which Weir cannot do');
  }
  const isBare = ipVersion(address) === 6;
  const url = address.includes('://') ? address : `udp://${isBare ? `[${address}]` : address}`;
  const colon = url.indexOf('://');
  const scheme = url.slice(0, colon).toLowerCase();
  const known = PORTS.get(scheme);
  if (!known) throw new ImportError(`a server by ${printable(scheme)} is not supported`);
  const { backend } = known;
  const place = url.slice(colon + 3);
  const slash = place.indexOf('/');
  const [authority, path] = slash < 0 ? [place, ''] : [place.slice(0, slash), place.slice(slash)];
  if (authority.includes('@')) throw new ImportError('a server with an account is not supported');
  const { host, port } = hostAndPort(authority, known.port);
  if (ipVersion(host) === 0) {
    throw new ImportError('Weir reaches a resolver by its address; write it with the address');
  }
  const shown = ipVersion(host) === 6 ? `[${host}]` : host;
  if (backend === 'https' && ipVersion(host) === 6) {
    throw new ImportError('the URL needs a name or an IPv4 address');
  }
  return {
    source: `${scheme}://${authority}`,
    settings: {
      backend,
      server: `${shown}:${port}`,
      server_name: backend === 'tls' ? host : undefined,
      url: backend === 'https' ? `https://${host}${path === '' ? '/dns-query' : path}` : undefined,
    },
  };
}

function hostAndPort(authority: string, usual: number): { host: string; port: number } {
  const end = authority.startsWith('[') ? authority.indexOf(']') + 1 : 0;
  const colon = authority.indexOf(':', end);
  const host = colon < 0 ? authority : authority.slice(0, colon);
  const port = colon < 0 ? usual : Number(authority.slice(colon + 1));
  if (!Number.isInteger(port) || port < 1 || port > 0xffff) {
    throw new ImportError('its port is invalid');
  }
  return { host: host.startsWith('[') ? host.slice(1, -1) : host, port };
}
