import { ForeignObject, ImportError } from '@weir/proxy/protocols/forms';
import type { Matchers, RuleEntry, TargetNames } from '../routing.ts';
import { fromDotNet, literally } from '../values/expressions.ts';
import { networkOf } from '../values/networks.ts';
import { domainOf, isOfClient, NOT_RESOLVED, type Matched } from './matched.ts';
import { RuleProviders } from './rule-providers.ts';

/** Maximum number of alternatives of one rule. */
const MOST_ALTERNATIVES = 64;

/** The reason why a rule without alternatives is not needed. */
const MATCHES_NEVER = 'its parts exclude each other';

/** The alternatives of `OR`. @throws {ImportError} when there are too many */
function oneOf(lists: readonly (readonly Matchers[])[]): readonly Matchers[] {
  const all = lists.flat();
  if (all.length > MOST_ALTERNATIVES) throw new ImportError('it has too many alternatives');
  return all;
}

/**
 * The alternatives of `AND`: every combination of one from each list.
 * @throws {ImportError} when there are too many, or a rule of Weir cannot have both conditions of a combination
 */
function allOf(lists: readonly (readonly Matchers[])[]): readonly Matchers[] {
  let found: readonly Matchers[] = [{}];
  for (const list of lists) {
    if (found.length * list.length > MOST_ALTERNATIVES) {
      throw new ImportError('it has too many alternatives');
    }
    found = found.flatMap((one) =>
      list.map((other) => both(one, other)).filter((each) => each !== undefined),
    );
  }
  return found;
}

/** Combines two matchers to their conjunction; `undefined` if no flow can match both. */
function both(one: Matchers, other: Matchers): Matchers | undefined {
  for (const [key, value] of Object.entries(one)) {
    const another: unknown = other[key as keyof Matchers];
    if (another === undefined || JSON.stringify(another) === JSON.stringify(value)) continue;
    if (key === 'network') return undefined;
    throw new ImportError(`one rule of Weir cannot ask for two of ${key} at once`);
  }
  return { ...one, ...other };
}

/** Maximum characters of a rule. */
const LONGEST_RULE = 4096;

/** A rule that never matches a flow; the message is the reason. */
class NeedlessRule extends ImportError {}

/** Types of rules whose payload may contain commas. */
const WITH_COMMAS: ReadonlySet<string> = new Set(['AND', 'OR', 'NOT', 'SUB-RULE', 'DOMAIN-REGEX']);

/** Types of rules that match every flow. */
export const CATCH_ALL: ReadonlySet<string> = new Set(['MATCH', 'FINAL']);

/** The parts of `TYPE,payload,target,params`. */
interface RuleParts {
  readonly type: string;
  readonly payload: string;
  readonly target: string;
  readonly params: readonly string[];
}

/** Splits a rule as mihomo does (`config/config.go`, parseRules). */
export function partsOf(text: string): RuleParts {
  const [first = '', ...rest] = text.split(',').map((part) => part.trim());
  const type = first.toUpperCase();
  if (CATCH_ALL.has(type)) {
    return { type: 'MATCH', payload: '', target: rest[0] ?? '', params: [] };
  }
  if (WITH_COMMAS.has(type) || type.endsWith('-REGEX')) {
    return { type, payload: rest.slice(0, -1).join(','), target: rest.at(-1) ?? '', params: [] };
  }
  const [payload = '', target = '', ...params] = rest;
  return { type, payload, target, params };
}

/** Reads `rules` in order; rules after one that matches everything are never reached. */
export function readRules(
  rules: readonly unknown[],
  names: TargetNames,
  providers = new ForeignObject({}),
): readonly RuleEntry[] {
  const sets = new RuleProviders(providers, (entry) => nested(entry, undefined, 0));
  let isReached = true;
  return rules.map((rule) => {
    const source = sourceOf(rule);
    if (!isReached) return { source, needless: 'a rule before it matches everything' };
    if (typeof rule !== 'string') return { source, skipped: 'it is not text', target: undefined };
    if (rule.length > LONGEST_RULE) {
      return { source, skipped: 'it is too long for a rule', target: undefined };
    }
    const parts = partsOf(rule);
    if (parts.type === 'MATCH') {
      isReached = false;
      return { source, needless: 'it is the default route' };
    }
    return readRule(source, parts, names, sets);
  });
}

/** A rule as shown on one line of a report. */
const sourceOf = (rule: unknown): string =>
  typeof rule === 'string' ? (rule.length > 200 ? `${rule.slice(0, 200)}…` : rule) : typeof rule;

function readRule(
  source: string,
  parts: RuleParts,
  names: TargetNames,
  sets: RuleProviders,
): RuleEntry {
  const target = names.of(parts.target);
  try {
    if (parts.target === 'PASS' && target.kind === 'missing') {
      return { source, needless: 'PASS goes on with the next rule' };
    }
    if (parts.type === 'SUB-RULE') throw new ImportError('sub-rules are not supported');
    const { any, notes, isPartial = false } = matchersOf(parts, sets);
    if (any.length === 0) return { source, needless: MATCHES_NEVER };
    const dropNote = parts.target === 'REJECT-DROP' ? [REJECT_DROP] : [];
    return { source, any, target, notes: [...notes, ...dropNote], ...(isPartial && { isPartial }) };
  } catch (error) {
    if (error instanceof NeedlessRule) return { source, needless: error.message };
    if (!(error instanceof ImportError)) throw error;
    const isRule = parts.target !== '' && parts.type !== 'SUB-RULE';
    return { source, skipped: error.message, target: isRule ? target : undefined };
  }
}

const REJECT_DROP = 'connections are closed at once, where REJECT-DROP leaves them waiting';

/** The matchers of a rule without a target, as in `AND`, `OR` and providers. */
function nested(text: string, sets: RuleProviders | undefined, depth: number): Matched {
  const [first = '', ...rest] = text.split(',').map((part) => part.trim());
  const type = first.toUpperCase();
  if (WITH_COMMAS.has(type)) {
    return matchersOf({ type, payload: rest.join(','), target: '', params: [] }, sets, depth);
  }
  const [payload = '', ...params] = rest;
  return matchersOf({ type, payload, target: '', params }, sets, depth);
}

/**
 * The matchers of a rule.
 * @param sets what `RULE-SET` may name; `undefined` within a provider
 * @throws {ImportError} with the reason why Weir has none for it
 */
function matchersOf(
  { type, payload, params }: RuleParts,
  sets: RuleProviders | undefined,
  depth = 0,
): Matched {
  switch (type) {
    case 'AND':
    case 'OR': {
      const parts = subRules(payload, depth).map((each) => nested(each, sets, depth + 1));
      const notes = [...new Set(parts.flatMap((each) => each.notes))];
      const lists = parts.map(({ any }) => any);
      const isPartial = parts.some((each) => each.isPartial === true);
      return { any: type === 'AND' ? allOf(lists) : oneOf(lists), notes, isPartial };
    }
    case 'RULE-SET':
      if (!sets) throw new ImportError('a provider cannot name another one');
      return sets.matchersOf(payload, params);
    case 'NOT':
      throw new ImportError('Weir has no rule for what does not match');
    default:
      return { any: [single(type, payload, params)], notes: notesOf(type, params) };
  }
}

/** Maximum nesting of `AND` and `OR`. */
const DEEPEST = 8;

/** The rules within the parentheses of `((…),(…))`. */
function subRules(payload: string, depth: number): readonly string[] {
  if (depth >= DEEPEST) throw new ImportError('it is nested too deeply');
  const text = payload.trim();
  if (!text.startsWith('(') || !text.endsWith(')')) throw new ImportError('it is not a rule');
  const found: string[] = [];
  let level = 0;
  let start = 0;
  for (let at = 1; at < text.length - 1; at++) {
    if (text[at] === '(' && level++ === 0) start = at + 1;
    else if (text[at] === ')' && --level === 0) found.push(text.slice(start, at));
    if (level < 0) throw new ImportError('it is not a rule');
  }
  if (level !== 0 || found.length === 0) throw new ImportError('it is not a rule');
  return found;
}

const IP_RULES: ReadonlySet<string> = new Set(['IP-CIDR', 'IP-CIDR6', 'GEOIP']);

/** A note for rules on IP addresses, for which Clash resolves names. */
const notesOf = (type: string, params: readonly string[]): readonly string[] =>
  IP_RULES.has(type) && !isOfClient(params) && !params.includes('no-resolve') ? [NOT_RESOLVED] : [];

/** Reasons for types of rules that Weir does not support. */
const UNSUPPORTED: ReadonlyMap<string, string> = new Map([
  ['PROCESS-NAME', 'Weir does not look at the program that connects'],
  ['PROCESS-NAME-REGEX', 'Weir does not look at the program that connects'],
  ['PROCESS-PATH', 'Weir does not look at the program that connects'],
  ['PROCESS-PATH-REGEX', 'Weir does not look at the program that connects'],
  ['UID', 'Weir does not look at the program that connects'],
  ['SRC-PORT', 'Weir has no rule for the port of the client'],
  ['IN-PORT', 'name the inbound with IN-NAME instead'],
  ['IN-TYPE', 'name the inbound with IN-NAME instead'],
  ['IN-USER', 'Weir has no rule for the user of an inbound'],
  ['SRC-GEOIP', 'Weir has no geoip rule for clients; write their networks as SRC-IP-CIDR'],
  ['IP-ASN', 'Weir has no rule for the number of a network'],
  ['SRC-IP-ASN', 'Weir has no rule for the number of a network'],
  ['IP-SUFFIX', 'Weir has no rule for the end of an address'],
  ['SRC-IP-SUFFIX', 'Weir has no rule for the end of an address'],
  ['DSCP', 'Weir has no rule for DSCP'],
]);

function single(type: string, payload: string, params: readonly string[]): Matchers {
  if (payload === '') throw new ImportError('it is empty');
  switch (type) {
    case 'DOMAIN':
      return { domain_full: [domainOf(payload)] };
    case 'DOMAIN-SUFFIX':
      if (payload.startsWith('.'))
        throw new NeedlessRule('a suffix with a leading dot never matches');
      return { domain_suffix: [domainOf(payload)] };
    case 'DOMAIN-KEYWORD':
      return { domain_keyword: [domainOf(payload)] };
    case 'DOMAIN-REGEX':
      // mihomo ignores case; Weir matches against the lower-case name.
      return { domain_regex: [`(?i)${fromDotNet(payload)}`] };
    case 'DOMAIN-WILDCARD':
      return wildcard(payload);
    case 'GEOSITE':
      return { geosite: [geositeOf(payload)] };
    case 'GEOIP':
      return geoipOf(payload, params);
    case 'IP-CIDR':
    case 'IP-CIDR6':
      return isOfClient(params)
        ? { source_cidr: [networkOf(payload)] }
        : { cidr: [networkOf(payload)] };
    case 'SRC-IP-CIDR':
      return { source_cidr: [networkOf(payload)] };
    case 'DST-PORT':
      return { port: portsOf(payload) };
    case 'NETWORK':
      return { network: networkNameOf(payload) };
    case 'IN-NAME':
      return { inbound_tag: payload.split('/') };
    default:
      throw new ImportError(
        UNSUPPORTED.get(type) ?? `the type ${JSON.stringify(type)} is not supported`,
      );
  }
}

/**
 * `*` is any number of characters and `?` one, dots included (mihomo, component/wildcard). Asterisks alone also match
 * flows without a name.
 */
function wildcard(pattern: string): Matchers {
  if (/^\*+$/.test(pattern)) return {};
  const parts = Array.from(domainOf(pattern.replaceAll(/\*+/g, '*')), (char) =>
    char === '*' ? '.*' : char === '?' ? '.' : literally(char),
  );
  return { domain_regex: [`^${parts.join('')}$`] };
}

function geositeOf(code: string): string {
  if (code.startsWith('!')) throw new ImportError('Weir has no rule for what a list does not have');
  return code.toLowerCase();
}

/** The networks of `GEOIP,LAN` in mihomo. */
const LAN = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fc00::/7',
  '0.0.0.0',
  '::',
  '127.0.0.0/8',
  '::1',
  '224.0.0.0/4',
  'ff00::/8',
  '169.254.0.0/16',
  'fe80::/10',
];

function geoipOf(code: string, params: readonly string[]): Matchers {
  const isLan = code.toLowerCase() === 'lan';
  if (isOfClient(params)) {
    if (isLan) return { source_cidr: LAN };
    throw new ImportError(
      'Weir has no geoip rule for clients; write their networks as SRC-IP-CIDR',
    );
  }
  return isLan ? { cidr: LAN } : { geoip: [code.toLowerCase()] };
}

/** Parses ports: `80`, `80/443/8000-9000`. */
function portsOf(payload: string): readonly string[] {
  const ports = payload.split('/').map((each) => each.replaceAll(/[[\] ]/g, ''));
  if (ports.every((each) => /^\d{1,5}(?:-\d{1,5})?$/.test(each))) return ports;
  throw new ImportError('its ports are invalid');
}

function networkNameOf(payload: string): 'tcp' | 'udp' {
  const name = payload.toLowerCase();
  if (name === 'tcp' || name === 'udp') return name;
  throw new ImportError('its network is neither tcp nor udp');
}
