import { formatCidr } from '@weir/base/ip';
import type { PortRangeSpec, RoutingSpec, RuleSpec } from '../../spec.ts';
import { type GeoData, geositeKey } from '../geo/geo-data.ts';
import type { Facts, IndexedRule, MatcherKey } from './conditions.ts';
import { compileRules } from './compile-rules.ts';
import { holdsAt, packRules } from './tables/packing.ts';
import { QueryFacts, type RouteDecision, type RouteQuery } from './query.ts';
import type { RegexCache } from './tables/regex-set.ts';
import { Router } from './router.ts';
import { assembleTables } from './tables/router-tables.ts';

/** One of the alternatives of a matcher. */
export interface MatcherEntry {
  /** The text as written in a configuration, except for the case of letters. */
  readonly text: string;
  /** A rule with this entry alone. */
  readonly rule: RuleSpec;
}

/** A rule without matchers. */
export const NO_MATCHERS: RuleSpec = {
  outbound: '',
  domainSuffix: [],
  domainKeyword: [],
  domainFull: [],
  domainRegex: [],
  cidr: [],
  sourceCidr: [],
  port: [],
  network: undefined,
  inboundTag: [],
  geosite: [],
  geoip: [],
};

/** The entries of one matcher of a rule, in the order of the configuration. */
export const matcherEntries = (rule: RuleSpec, key: MatcherKey): readonly MatcherEntry[] =>
  ENTRIES[key].entries(rule);

/** Returns the texts of these entries alone, which costs less. */
export const matcherTexts = (rule: RuleSpec, key: MatcherKey): readonly string[] =>
  ENTRIES[key].texts(rule);

interface MatcherReader {
  readonly texts: (rule: RuleSpec) => readonly string[];
  readonly entries: (rule: RuleSpec) => readonly MatcherEntry[];
}

/** The keys of a rule that have a list. */
type ListKey = Exclude<keyof RuleSpec, 'outbound' | 'network'>;

/** Reads the entries of a list, each of which is `text` in a configuration. */
const each = <Key extends ListKey>(
  key: Key,
  text: (entry: RuleSpec[Key][number]) => string,
): MatcherReader => {
  const list = (rule: RuleSpec) => rule[key] as readonly RuleSpec[Key][number][];
  return {
    texts: (rule) => list(rule).map(text),
    entries: (rule) =>
      list(rule).map((entry) => ({ text: text(entry), rule: { ...NO_MATCHERS, [key]: [entry] } })),
  };
};

const asWritten = (text: string): string => text;

const portText = ({ low, high }: PortRangeSpec): string =>
  low === high ? String(low) : `${low}-${high}`;

const ENTRIES: Readonly<Record<MatcherKey, MatcherReader>> = {
  domain_full: each('domainFull', asWritten),
  domain_suffix: each('domainSuffix', asWritten),
  domain_keyword: each('domainKeyword', asWritten),
  domain_regex: each('domainRegex', asWritten),
  geosite: each('geosite', geositeKey),
  cidr: each('cidr', formatCidr),
  geoip: each('geoip', ({ code, negate }) => `${negate ? '!' : ''}${code}`),
  source_cidr: each('sourceCidr', formatCidr),
  port: each('port', portText),
  inbound_tag: each('inboundTag', asWritten),
  network: {
    texts: ({ network }) => (network === undefined ? [] : [network]),
    entries: ({ network }) =>
      network === undefined ? [] : [{ text: network, rule: { ...NO_MATCHERS, network } }],
  },
};

/** A matcher of the rule that decided. */
export interface MatchedEntry {
  readonly key: MatcherKey;
  /** The first entry of the matcher that matches, as written. */
  readonly entry: string;
}

/** A rule before the one that decided. */
export interface PassedRule {
  readonly rule: number;
  /** The matchers of the rule that do not match, at least one, in the order in which they are examined. */
  readonly failing: readonly MatcherKey[];
  /**
   * The reason why the first of these does not match: the flow has another value, or none (an address has no domain),
   * or no flow can match it.
   */
  readonly reason: 'different' | 'no value' | 'impossible';
}

export interface RouteExplanation extends RouteDecision {
  /** Matched entries, one for each matcher of the rule; none for the default route and for a rule without matchers. */
  readonly matched: readonly MatchedEntry[];
  readonly passed: readonly PassedRule[];
}

/**
 * Decides as a Router does, by the same tables and conditions, and explains why. It examines all rules in
 * order, whereas a Router uses its index to examine only those that may match.
 */
export class RouteExplainer {
  readonly #spec: RoutingSpec;
  readonly #regexes: RegexCache;
  readonly #geo: GeoData | undefined;
  readonly #rules: ReadonlyMap<number, IndexedRule>;
  readonly #impossible: ReadonlyMap<number, MatcherKey>;
  readonly #numbers: Uint32Array;
  /** Start of each condition in `#numbers`, packed as a separate rule, by rule. */
  readonly #starts: ReadonlyMap<number, readonly number[]>;
  readonly #facts: QueryFacts;
  readonly #router: Router;

  /** @param geo the lists that the rules name; needed only if they name one */
  constructor(spec: RoutingSpec, regexes: RegexCache, geo?: GeoData) {
    this.#spec = spec;
    this.#regexes = regexes;
    this.#geo = geo;
    const compiled = compileRules(spec.rules, geo);
    const tables = assembleTables(spec, compiled);
    const { patterns } = tables.domains;
    const matcher = patterns.length > 0 ? regexes.compile(patterns) : undefined;
    this.#facts = new QueryFacts(tables, matcher);
    this.#router = new Router(tables, { regexes, ...(matcher && { compiled: matcher }) });
    this.#rules = new Map(compiled.rules.map((each) => [each.rule, each]));
    this.#impossible = compiled.impossible;
    const apart = compiled.rules.flatMap(({ rule, conditions }) =>
      conditions.map((condition) => ({ rule, conditions: [condition] })),
    );
    const { numbers, starts } = packRules(apart);
    this.#numbers = numbers;
    const byRule = new Map<number, number[]>(compiled.rules.map(({ rule }) => [rule, []]));
    apart.forEach(({ rule }, index) => byRule.get(rule)?.push(starts[index] ?? 0));
    this.#starts = byRule;
  }

  explain(query: RouteQuery): RouteExplanation {
    this.#facts.reset(query);
    const passed: PassedRule[] = [];
    for (const [rule, spec] of this.#spec.rules.entries()) {
      const why = this.#passes(rule, this.#facts);
      if (!why) {
        return { outbound: spec.outbound, rule, matched: this.#matched(rule, query), passed };
      }
      passed.push(why);
    }
    return { outbound: this.#spec.default, rule: undefined, matched: [], passed };
  }

  /** Decides without explaining, which costs no more with many rules. */
  decide(query: RouteQuery): RouteDecision {
    return this.#router.route(query);
  }

  /** Whether a sniffed name could change the decision; see `Router.needsDomain`. */
  needsDomain(query: RouteQuery): boolean {
    return this.#router.needsDomain(query);
  }

  /** Returns the reason why a rule does not match; `undefined` when it does. */
  #passes(rule: number, facts: Facts): PassedRule | undefined {
    const impossible = this.#impossible.get(rule);
    if (impossible) return { rule, failing: [impossible], reason: 'impossible' };
    const starts = this.#starts.get(rule) ?? [];
    const { conditions = [] } = this.#rules.get(rule) ?? {};
    const failing = conditions.filter(
      (_, index) => !holdsAt(this.#numbers, starts[index] ?? 0, facts),
    );
    const [first] = failing;
    if (!first) return undefined;
    const reason = facts.hits(first.field) ? 'different' : 'no value';
    return { rule, failing: failing.map(({ key }) => key), reason };
  }

  /** Finds the first entry of each matcher that matches, by a router with one rule per entry. */
  #matched(rule: number, query: RouteQuery): readonly MatchedEntry[] {
    const spec = this.#spec.rules[rule];
    const { conditions = [] } = this.#rules.get(rule) ?? {};
    if (!spec) return [];
    return conditions.map(({ key }) => {
      const entries = matcherEntries(spec, key);
      const rules = entries.map((entry) => entry.rule);
      const regexes = this.#regexes;
      const router = new Router(
        { default: '', rules },
        { regexes, ...(this.#geo && { geo: this.#geo }) },
      );
      const found = router.route(query).rule;
      return { key, entry: entries[found ?? -1]?.text ?? '' };
    });
  }
}
