import { ImportError, type Draft } from '@weir/proxy/protocols/forms';
import { ForeignObject } from '@weir/proxy/protocols/forms';
import { allForms } from '@weir/proxy/protocols';
import { nameOf, readEntries, portsOf, type EntryReader } from '../entry.ts';
import {
  XRAY_DOCUMENT_KEYS,
  XRAY_BALANCER_KEYS,
  XRAY_KEYS,
  XRAY_RULE_KEYS,
  XRAY_DNS_KEYS,
} from '../keys/xray.ts';
import {
  levelOf,
  both,
  type RuleEntry,
  type Routing,
  type Target,
  type ForeignGroup,
  type Matchers,
  type DnsDraft,
  type DocumentKey,
  type ImportedEntry,
  bounded,
  groupOrReason,
  MemberBudget,
  TargetNames,
  NOT_RESOLVED,
  NOT_ANSWERED,
  isDirect,
} from '../routing.ts';
import { dnsDraft, dnsUrlOf } from '../values/dns-server.ts';
import { portRangeOf } from '../values/networks.ts';
import { keysOf, notesOn, notesOnRule } from '../verdicts.ts';
import { wordsOf, addressesOf, domainsOf, sourcesOf } from './conditions.ts';
import { readInboundOf } from './inbounds.ts';

const READER: EntryReader = {
  name: 'tag',
  verdicts: XRAY_KEYS,
  read: readOutbound,
  family: familyOf,
};

/** Address families of Xray's strategies for resolving names, which require or prefer one. */
const FAMILIES: ReadonlyMap<string, string | undefined> = new Map([
  ['', undefined],
  ['asis', undefined],
  ['useip', undefined],
  ['forceip', undefined],
  ['useipv4', 'ipv4_only'],
  ['forceipv4', 'ipv4_only'],
  ['useipv6', 'ipv6_only'],
  ['forceipv6', 'ipv6_only'],
  ['useipv4v6', 'prefer_ipv4'],
  ['useipv46', 'prefer_ipv4'],
  ['forceipv4v6', 'prefer_ipv4'],
  ['forceipv46', 'prefer_ipv4'],
  ['useipv6v4', 'prefer_ipv6'],
  ['useipv64', 'prefer_ipv6'],
  ['forceipv6v4', 'prefer_ipv6'],
  ['forceipv64', 'prefer_ipv6'],
]);

/** The address family of an outbound. @throws {ImportError} for an unknown strategy */
function familyOf(fields: ForeignObject): string | undefined {
  const settings = fields.fields('settings');
  const socket = fields.fields('streamSettings').fields('sockopt');
  const strategies = [
    settings.text('domainStrategy'),
    settings.text('targetStrategy'),
    fields.text('targetStrategy'),
    socket.text('domainStrategy'),
  ];
  let family: string | undefined;
  for (const strategy of strategies) {
    const name = (strategy ?? '').toLowerCase();
    if (!FAMILIES.has(name)) {
      throw new ImportError(`the strategy ${JSON.stringify(strategy)} is unknown`);
    }
    family ??= FAMILIES.get(name);
  }
  return family;
}

function readOutbound(fields: ForeignObject): Draft {
  const name = fields.text('tag') ?? '';
  const protocol = (fields.text('protocol') ?? '').toLowerCase();
  const settings = fields.fields('settings');
  const form = allForms().find(({ xray }) => xray?.protocol === protocol)?.xray;
  if (form) return form.read(settings, name, fields);
  throw new ImportError(`the protocol ${JSON.stringify(protocol)} is not supported`);
}

const FASTEST = 'the first member that works is used, not the fastest';

/**
 * Reads one of `routing.balancers`. Its members are the outbounds whose tags begin with one of `selector`, in the order
 * of their tags.
 * @param tags of outbounds, sorted
 * @throws {ImportError} when the balancers have too many members
 */
function readBalancer(
  value: unknown,
  tags: readonly string[],
  names: TargetNames,
  budget: MemberBudget,
): ForeignGroup {
  const fields = new ForeignObject(value);
  const prefixes = wordsOf(fields, 'selector');
  const members = withPrefixes(tags, prefixes);
  budget.spend(members.length);
  const strategy = (fields.fields('strategy').text('type') ?? '').toLowerCase();
  const isFastest = strategy === 'leastping' || strategy === 'leastload';
  const fallback = fields.text('fallbackTag') ?? '';
  const notes = isFastest ? [FASTEST] : [];
  if (strategy === '' || strategy === 'random')
    notes.push('members are used in turn, not at random');
  // A failover uses its last member when no other works.
  if (fallback !== '' && !isFastest) {
    notes.push('"fallbackTag" is not carried over: flows fail while no member works');
  }
  return {
    name: fields.text('tag') ?? '',
    strategy: isFastest ? 'failover' : 'round_robin',
    members: [...members, ...(isFastest && fallback !== '' ? [fallback] : [])].map((tag) =>
      names.of(tag),
    ),
    takes: {
      from: 'document',
      isListing: true,
      filters: prefixes.map((prefix) => `^${literal(prefix)}`),
      excluded: [],
      excludedProtocols: [],
    },
    notes: [...notes, ...notesOn(fields, XRAY_BALANCER_KEYS)],
  };
}

/** Escapes a text as an expression that matches it. */
const literal = (text: string): string =>
  text.replaceAll(/[\\^$.|?*+()[\]{}&~#-]/g, String.raw`\$&`);

/** The tags that begin with a prefix, in order; each prefix is located by binary search. */
function withPrefixes(sorted: readonly string[], prefixes: readonly string[]): readonly string[] {
  const found: string[] = [];
  let last: string | undefined;
  for (const prefix of [...prefixes].sort()) {
    // A shorter prefix has found these tags already.
    if (last !== undefined && prefix.startsWith(last)) continue;
    last = prefix;
    for (let at = firstFrom(sorted, prefix); sorted[at]?.startsWith(prefix); at++) {
      found.push(sorted[at] ?? '');
    }
  }
  return found;
}

/** The index of the first text that is not less than `text`. */
function firstFrom(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Outbounds that are internal to the program. */
const INTERNAL: ReadonlySet<string> = new Set(['dns', 'loopback']);

const tagOf = (value: unknown): string => nameOf(value, 'tag');

/** Reads a configuration of Xray or v2ray; its first outbound receives flows that no rule matches. */
export function readXray(document: ForeignObject): Routing {
  const all = document.entries('outbounds');
  const isInternal = (each: unknown): boolean => INTERNAL.has(nameOf(each, 'protocol'));
  const servers = bounded(
    'servers',
    all.filter((each) => !isInternal(each)),
  );
  const names = new TargetNames({ entries: servers.map(tagOf), groups: [] });
  const entries = readEntries(servers, READER);
  const routing = document.fields('routing');
  const balancers = bounded('groups', routing.entries('balancers'));
  const rules = bounded('rules', routing.entries('rules'));
  const scope = {
    names,
    balancers: new Map(
      balancers.map((each, index): [string, Target] => [tagOf(each), { kind: 'group', index }]),
    ),
    dnsOutbounds: new Set(all.filter((each) => nameOf(each, 'protocol') === 'dns').map(tagOf)),
    services: servicesOf(document),
  };
  const read = rules.map((rule, index) => readRule(rule, `routing.rules[${index}]`, scope));
  const at = servers.indexOf(all[0]);
  const inbounds = bounded('inbounds', document.entries('inbounds'));
  const taken = portsOf(inbounds, 'port');
  const dns = readDns(document.fields('dns'));
  const tags = servers
    .map(tagOf)
    .filter((tag) => tag !== '')
    .sort();
  const budget = new MemberBudget();
  return {
    entries,
    groups: balancers.map((each) =>
      groupOrReason(tagOf(each), () => readBalancer(each, tags, names, budget)),
    ),
    rules: [...resolving(routing, read, entries), ...read],
    standard: at < 0 ? { kind: 'missing', name: tagOf(all[0]) } : { kind: 'entry', index: at },
    inbounds: inbounds.map((each, index) => readInboundOf(each, `inbounds[${index}]`, taken)),
    dns: dns.dns,
    logLevel: levelOf(document.fields('log').text('loglevel') ?? ''),
    keys: [...dns.keys, ...keysOf(document, XRAY_DOCUMENT_KEYS)],
  };
}

/** Tags of the API and the metrics. They are peeked at here, and reported as keys. */
const servicesOf = (document: ForeignObject): ReadonlySet<string> =>
  new Set(
    ['api', 'metrics'].flatMap((key) => {
      const tag = nameOf(document.peek(key), 'tag');
      return tag === '' ? [] : [tag];
    }),
  );

/**
 * The key `domainStrategy` as a skipped rule, with which flows to names are also matched by their addresses; empty
 * without it.
 */
function resolving(
  routing: ForeignObject,
  rules: readonly RuleEntry[],
  entries: readonly ImportedEntry[],
): readonly RuleEntry[] {
  const strategy = (routing.text('domainStrategy') ?? '').toLowerCase();
  if (strategy !== 'ipifnonmatch' && strategy !== 'ipondemand') return [];
  const sends = rules.some(
    (rule) =>
      'any' in rule &&
      rule.any.some((each) => each.cidr ?? each.geoip) &&
      !isDirect(rule.target, entries),
  );
  return [
    {
      source: 'routing.domainStrategy',
      isKey: true,
      skipped: NOT_RESOLVED,
      target: sends ? undefined : { kind: 'direct' },
    },
  ];
}

/** The context of a document's rules. */
interface XrayRuleScope {
  readonly names: TargetNames;
  /** The targets of `balancerTag`. */
  readonly balancers: ReadonlyMap<string, Target>;
  /** Names of outbounds that answer queries. */
  readonly dnsOutbounds: ReadonlySet<string>;
  /** Names of the API and the metrics, which are separate outbounds. */
  readonly services: ReadonlySet<string>;
}

/** Reads one of `routing.rules`. */
function readRule(value: unknown, source: string, scope: XrayRuleScope): RuleEntry {
  let target: Target | undefined;
  try {
    const fields = new ForeignObject(value);
    const outbound = fields.text('outboundTag') ?? '';
    const balancer = fields.text('balancerTag') ?? '';
    if (scope.services.has(outbound)) {
      return { source, needless: 'it leads into the API of Xray, which Weir does not have' };
    }
    if (scope.dnsOutbounds.has(outbound)) {
      return { source, skipped: NOT_ANSWERED, target: { kind: 'direct' } };
    }
    if (outbound === '' && balancer === '') throw new ImportError('it names no outbound');
    target =
      outbound === ''
        ? (scope.balancers.get(balancer) ?? { kind: 'missing', name: balancer })
        : scope.names.of(outbound);
    const any = conditionOf(fields);
    const notes = notesOnRule(fields, XRAY_RULE_KEYS);
    if (any === 'missing') throw new ImportError('it has no conditions');
    if (any === undefined) return { source, needless: 'it can never match a flow of Weir' };
    return { source, any, target, notes };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return { source, skipped: error.message, target };
  }
}

/**
 * Reads the condition of a rule. Xray joins the entries of a field by "or", and fields by "and"; entries of different
 * kinds in a field are therefore alternatives.
 * @returns `undefined` for a rule that no flow can match; `missing` for one without conditions, which Xray rejects
 * @throws {ImportError} for a condition that Weir lacks
 */
function conditionOf(fields: ForeignObject): readonly Matchers[] | 'missing' | undefined {
  const network = networkIn(fields);
  const rest: Matchers = {
    ...sourcesOf(fields),
    ...portIn(fields),
    ...(typeof network === 'object' ? network : {}),
    ...inboundIn(fields),
  };
  const domains = domainsOf(fields);
  const addresses = addressesOf(fields);
  if (network === 'none') return undefined;
  const isEmpty = domains.length + addresses.length + Object.keys(rest).length === 0;
  if (isEmpty && network !== 'both') return 'missing';
  return both(both(orEvery(domains), orEvery(addresses)), [rest]);
}

const orEvery = (alternatives: readonly Matchers[]): readonly Matchers[] =>
  alternatives.length === 0 ? [{}] : alternatives;

/** The network of a rule; `both` for TCP and UDP, which are all flows of Weir. */
function networkIn(fields: ForeignObject): Matchers | 'both' | 'none' {
  const networks = wordsOf(fields, 'network').map((each) => each.toLowerCase());
  if (networks.length === 0) return {};
  const known = (['tcp', 'udp'] as const).filter((each) => networks.includes(each));
  const [only, second] = known;
  if (only === undefined) return 'none';
  return second === undefined ? { network: only } : 'both';
}

function portIn(fields: ForeignObject): Matchers {
  const ports = fields
    .list('port')
    .flatMap((each) => String(each).split(','))
    .filter((each) => each.trim() !== '');
  if (fields.has('port') && ports.length === 0) throw new ImportError('"port" is empty');
  return ports.length === 0 ? {} : { port: ports.map((each) => portRangeOf(each, '-')) };
}

function inboundIn(fields: ForeignObject): Matchers {
  const names = wordsOf(fields, 'inboundTag');
  return names.length === 0 ? {} : { inbound_tag: names };
}

/** Reads the first server of Xray's `dns` that Weir supports; Weir has no equivalent for the others. */
function readDns(dns: ForeignObject): {
  readonly dns?: DnsDraft | undefined;
  readonly keys: readonly DocumentKey[];
} {
  const keys: DocumentKey[] = [];
  let draft: DnsDraft | undefined;
  for (const [index, each] of dns.entries('servers').entries()) {
    const path = `dns.servers[${index}]`;
    if (draft) {
      keys.push({ path, status: 'skipped', reason: 'Weir has one DNS server' });
      continue;
    }
    try {
      const found = serverOf(each, path);
      draft = found.dns;
      keys.push(...found.notes.map((reason) => ({ path, status: 'skipped' as const, reason })));
      if (!draft) {
        keys.push({ path, status: 'same', reason: "the system's resolver" });
        return { keys };
      }
    } catch (error) {
      if (!(error instanceof ImportError)) throw error;
      keys.push({ path, status: 'skipped', reason: error.message });
    }
  }
  return { dns: draft, keys };
}

interface ServerReading {
  /** Absent for the system's resolver. */
  readonly dns?: DnsDraft;
  readonly notes: readonly string[];
}

/** Reads a server. @throws {ImportError} for one that Weir does not support, or that is not for all names */
function serverOf(value: unknown, source: string): ServerReading {
  if (typeof value === 'string') return byAddress(value, undefined, source);
  const fields = new ForeignObject(value);
  const port = fields.number('port') || undefined;
  const found = byAddress(fields.needText('address'), port, source);
  return { ...found, notes: [...found.notes, ...notesOn(fields, XRAY_DNS_KEYS)] };
}

/** Note on servers without `+local`, which Xray queries by its rules. */
const BY_RULES = 'queries go directly, not by rules';

function byAddress(address: string, given: number | undefined, source: string): ServerReading {
  if (address.toLowerCase() === 'localhost') return { notes: [] };
  const { scheme, host, port = given, path } = dnsUrlOf(address);
  const isLocal = scheme.endsWith('+local');
  const notes = isLocal ? [] : [BY_RULES];
  switch (scheme) {
    case '':
      return { dns: dnsDraft({ source, backend: 'udp', host, port }), notes };
    case 'https':
    case 'https+local':
      return {
        dns: dnsDraft({ source, backend: 'https', host, port, path: path === '' ? '/' : path }),
        notes,
      };
    default:
      throw new ImportError(`DNS by ${JSON.stringify(scheme)} is not supported`);
  }
}
