import { normalizeName } from '@weir/proxy/names';
import { parseCidr, type Cidr } from '@weir/base/ip';
import { listEntries, ruleSubject, type RuleTable } from '../tables/rule.ts';
import { parsePortRange, suffixesOf } from '../values.ts';
import type { Examined, WarningList } from './warning.ts';
import { formatIP, parseIP } from '@weir/io/addresses';
import type { PortRangeSpec } from '@weir/proxy/spec';

/**
 * Warns of rules that never match, because earlier rules match all their flows. Reports only definite cases:
 * an earlier rule without conditions, one with the same conditions, or earlier rules with a single
 * condition that together cover one condition of the later rule.
 *
 * Rules of a subscribe file are not reported: the configuration may override them on purpose.
 */
export function warnOfShadowedRules({ own, merged }: Examined, list: WarningList): void {
  const rules = own.route?.rule ?? [];
  const all = merged.route?.rule ?? [];
  const taken = new TakenFlows();
  for (const [index, rule] of rules.entries()) {
    if (taken.everythingBy !== undefined) break;
    const conditions = conditionsOf(rule);
    const by = taken.coverOf(conditions);
    if (by !== undefined) {
      list.add('rule-never-matches', rule.outbound.span, (lineOf) => {
        const earlier = rules[by];
        const line = earlier ? ` (${lineOf(earlier.outbound.span)})` : '';
        return `${ruleSubject(index)} never matches: ${ruleSubject(by)}${line} takes all that it would match`;
      });
    } else taken.add(conditions, index);
  }
  warnOfRulesBehind(taken.everythingBy, rules, all.length, list);
}

/** Warns of a rule that matches every flow, and of the rules after it, of the same file or of route groups. */
function warnOfRulesBehind(
  by: number | undefined,
  rules: readonly RuleTable[],
  total: number,
  list: WarningList,
): void {
  const last = by === undefined ? undefined : rules[by];
  if (by === undefined || !last || by + 1 === total) return;
  const next = rules[by + 1];
  const many = total - by - 1;
  const rest = `${many === 1 ? 'the rule' : `the ${many} rules`} after it`;
  list.add('rule-never-matches', (next ?? last).outbound.span, (lineOf) => {
    const all = `${ruleSubject(by)} (${lineOf(last.outbound.span)}) takes every flow`;
    return next
      ? `${ruleSubject(by + 1)} never matches: ${all}, so ${rest} ${many === 1 ? 'is' : 'are'} not reached`
      : `${all}: ${rest}, of route groups, never ${many === 1 ? 'matches' : 'match'}`;
  });
}

const KEYS = [
  'domainSuffix',
  'domainKeyword',
  'domainFull',
  'domainRegex',
  'cidr',
  'sourceCidr',
  'port',
  'inboundTag',
  'geosite',
  'geoip',
] as const;
type Key = (typeof KEYS)[number] | 'network';

/** One key of a rule with its alternatives. */
interface RuleCondition {
  readonly key: Key;
  readonly entries: readonly string[];
}

function conditionsOf(rule: RuleTable): readonly RuleCondition[] {
  const conditions: RuleCondition[] = [];
  for (const key of KEYS) {
    const entries = listEntries(rule[key]);
    if (entries.length > 0) {
      conditions.push({ key, entries: entries.map(({ value }) => comparable(key, value)) });
    }
  }
  if (rule.network) conditions.push({ key: 'network', entries: [rule.network.value] });
  return conditions;
}

/** Returns the canonical form of an entry. */
function comparable(key: Key, text: string): string {
  switch (key) {
    case 'domainSuffix':
    case 'domainFull':
      return normalizeName(text);
    case 'domainKeyword':
    case 'geosite':
    case 'geoip':
      return text.toLowerCase();
    case 'domainRegex':
    case 'cidr':
    case 'sourceCidr':
    case 'port':
    case 'inboundTag':
    case 'network':
      return text;
    default:
      return key satisfies never;
  }
}

/** The flows that earlier rules match, as far as that is certain. */
class TakenFlows {
  /** The rule that matches every flow. */
  everythingBy: number | undefined;
  /** Rules with several conditions, by the text of all conditions. */
  readonly #whole = new Map<string, number>();
  readonly #names = new TakenNames();
  readonly #destinations = new TakenNetworks();
  readonly #sources = new TakenNetworks();
  readonly #ports = new TakenPorts();
  readonly #words = new TakenWords();

  add(conditions: readonly RuleCondition[], rule: number): void {
    const [only, ...more] = conditions;
    if (!only) this.everythingBy = rule;
    else if (more.length > 0) this.#whole.set(textOf(conditions), rule);
    else {
      for (const entry of only.entries) this.#take(only.key, entry, rule);
      if (this.#words.has('network tcp') && this.#words.has('network udp')) {
        this.everythingBy = rule;
      }
    }
  }

  /** Returns the last of the earlier rules that together match all flows with these conditions. */
  coverOf(conditions: readonly RuleCondition[]): number | undefined {
    const same = conditions.length > 1 ? this.#whole.get(textOf(conditions)) : undefined;
    if (same !== undefined) return same;
    for (const { key, entries } of conditions) {
      const by = this.#coverOfAll(key, entries);
      if (by !== undefined) return by;
    }
    return undefined;
  }

  #coverOfAll(key: Key, entries: readonly string[]): number | undefined {
    let last = -1;
    for (const entry of entries) {
      const by = this.#coverOfOne(key, entry);
      if (by === undefined) return undefined;
      last = Math.max(last, by);
    }
    return last < 0 ? undefined : last;
  }

  #take(key: Key, entry: string, rule: number): void {
    switch (key) {
      case 'domainSuffix':
        return this.#names.takeSuffix(entry, rule);
      case 'cidr':
      case 'sourceCidr': {
        const network = parseCidr(entry);
        if ('problem' in network) return;
        return (key === 'cidr' ? this.#destinations : this.#sources).take(network, rule);
      }
      case 'port': {
        const range = parsePortRange(entry);
        return 'problem' in range ? undefined : this.#ports.take(range, rule);
      }
      case 'domainFull':
      case 'domainKeyword':
      case 'domainRegex':
      case 'geosite':
      case 'geoip':
      case 'inboundTag':
      case 'network':
        return this.#words.take(`${key} ${entry}`, rule);
      default:
        return key satisfies never;
    }
  }

  #coverOfOne(key: Key, entry: string): number | undefined {
    switch (key) {
      case 'domainSuffix':
        return this.#names.coverOf(entry);
      case 'domainFull':
        return this.#words.coverOf(`${key} ${entry}`) ?? this.#names.coverOf(entry);
      case 'cidr':
      case 'sourceCidr': {
        const network = parseCidr(entry);
        if ('problem' in network) return undefined;
        return (key === 'cidr' ? this.#destinations : this.#sources).coverOf(network);
      }
      case 'port': {
        const range = parsePortRange(entry);
        return 'problem' in range ? undefined : this.#ports.coverOf(range);
      }
      case 'domainKeyword':
      case 'domainRegex':
      case 'geosite':
      case 'geoip':
      case 'inboundTag':
      case 'network':
        return this.#words.coverOf(`${key} ${entry}`);
      default:
        return key satisfies never;
    }
  }
}

/** Conditions as text, with sorted alternatives. */
const textOf = (conditions: readonly RuleCondition[]): string =>
  JSON.stringify(conditions.map(({ key, entries }) => [key, ...new Set(entries.toSorted())]));

/** Single words, each with the first rule that matches it. */
class TakenWords {
  readonly #rules = new Map<string, number>();

  take(word: string, rule: number): void {
    if (!this.#rules.has(word)) this.#rules.set(word, rule);
  }

  has(word: string): boolean {
    return this.#rules.has(word);
  }

  coverOf(word: string): number | undefined {
    return this.#rules.get(word);
  }
}

/** Domains, each including its subdomains. */
class TakenNames {
  readonly #suffixes = new Map<string, number>();

  takeSuffix(name: string, rule: number): void {
    // An empty entry, or one with a leading dot, matches nothing.
    if (name === '' || name.startsWith('.')) return;
    if (!this.#suffixes.has(name)) this.#suffixes.set(name, rule);
  }

  coverOf(name: string): number | undefined {
    for (const suffix of suffixesOf(name)) {
      const rule = this.#suffixes.get(suffix);
      if (rule !== undefined) return rule;
    }
    return undefined;
  }
}

/** Networks, each including its subnets. */
class TakenNetworks {
  readonly #rules = new Map<string, number>();
  /** The prefix lengths in use, by address length in bits; few in practice. */
  readonly #prefixes = new Map<number, Set<number>>();

  take({ address, prefix }: Cidr, rule: number): void {
    const bytes = parseIP(address);
    if (!bytes) return;
    const key = keyOf(bytes, prefix);
    if (this.#rules.has(key)) return;
    this.#rules.set(key, rule);
    const width = bytes.length * 8;
    const prefixes = this.#prefixes.get(width);
    if (prefixes) prefixes.add(prefix);
    else this.#prefixes.set(width, new Set([prefix]));
  }

  coverOf({ address, prefix }: Cidr): number | undefined {
    const bytes = parseIP(address);
    if (!bytes) return undefined;
    for (const shorter of this.#prefixes.get(bytes.length * 8) ?? []) {
      const rule = shorter <= prefix ? this.#rules.get(keyOf(bytes, shorter)) : undefined;
      if (rule !== undefined) return rule;
    }
    return undefined;
  }
}

/** Returns the network of an address, as a key. */
function keyOf(address: Uint8Array, prefix: number): string {
  const network = address.map((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefix - index * 8));
    return byte & (0xff00 >> bits) & 0xff;
  });
  return `${formatIP(network)}/${prefix}`;
}

/** Ports, each with the first rule that matches it. */
class TakenPorts {
  readonly #rules = new Map<number, number>();
  /** Union-find with path compression: for each taken port the next one that may be free. */
  readonly #next = new Map<number, number>();

  take({ low, high }: PortRangeSpec, rule: number): void {
    for (let port = this.#free(low); port <= high; port = this.#free(port)) {
      this.#next.set(port, port + 1);
      this.#rules.set(port, rule);
    }
  }

  /** Returns the rule of the first port, if rules match all ports of the range. */
  coverOf({ low, high }: PortRangeSpec): number | undefined {
    return this.#free(low) > high ? this.#rules.get(low) : undefined;
  }

  /** Returns the first free port from `port` on; compresses the path for the next search. */
  #free(port: number): number {
    let end = port;
    for (let next = this.#next.get(end); next !== undefined; next = this.#next.get(end)) end = next;
    for (let at = port; at !== end;) {
      const next = this.#next.get(at) ?? end;
      this.#next.set(at, end);
      at = next;
    }
    return end;
  }
}
