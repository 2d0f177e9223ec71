import { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { XRAY_DOCUMENT_KEYS, XRAY_BALANCER_KEYS, XRAY_KEYS } from '../keys/xray.ts';
import { levelOf } from '../values/log-level.ts';
import type { ImportedEntry } from '../entry.ts';
import type { RuleEntry, Routing, Target, ForeignGroup } from '../routing.ts';
import { bounded, groupOrReason, MemberBudget, TargetNames, NOT_RESOLVED } from '../targets.ts';
import { keysOf, notesOn } from '../verdicts.ts';
import { readDns } from './dns.ts';
import { readInboundOf } from './inbounds.ts';
import { readRule } from './rules.ts';
import { wordsOf } from './conditions.ts';
import { ImportError, type Draft } from '../../protocols/forms/draft.ts';
import { allForms } from '../../protocols/registry.ts';
import { nameOf, readEntry, portsOf, type EntryReader } from '../read-entry.ts';

const READER: EntryReader = {
  name: 'tag',
  verdicts: XRAY_KEYS,
  read: readOutbound,
  family: familyOf,
};

/** Reads the servers of a configuration. */
const readOutbounds = (servers: readonly unknown[]): readonly ImportedEntry[] =>
  bounded('servers', servers).map((each) => readEntry(each, READER));

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
  const servers = all.filter((each) => !isInternal(each));
  const names = new TargetNames({ entries: servers.map(tagOf), groups: [] });
  const entries = readOutbounds(servers);
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
 * A skipped rule that reports `domainStrategy`, with which flows to names are also matched by their addresses; empty
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
      skipped: NOT_RESOLVED,
      target: sends ? undefined : { kind: 'direct' },
    },
  ];
}

const isDirect = (target: Target, entries: readonly ImportedEntry[]): boolean =>
  target.kind === 'direct' ||
  (target.kind === 'entry' && entries[target.index]?.draft?.protocol === 'freedom');
