import { ipVersion } from '../../net/addresses/address.ts';
import type { RoutingSpec } from '../../spec.ts';
import type { GeoData } from '../geo/geo-data.ts';
import type { RouteDecision, RouteQuery } from './query.ts';
import { QueryFacts } from './query-facts.ts';
import type { RegexCache, RegexSet } from './tables/regex-set.ts';
import { buildRouterTables, type RouterTables } from './tables/router-tables.ts';
import { RuleIndex } from './rule-index.ts';

export interface RouterResources {
  /** Keep it across reloads: see RegexCache. */
  readonly regexes: RegexCache;
  /** The patterns of the tables, where they have been compiled already. */
  readonly compiled?: RegexSet;
  /** The geo lists that the rules name; only needed when they name one. */
  readonly geo?: GeoData;
}

/**
 * The rules of a configuration, ready to decide. Immutable from the outside; a reload makes a new
 * one.
 *
 * How a query is read:
 * - A host that is no IP address is a domain. It is compared in lower case and without the one dot
 *   that a fully qualified name may end with. It never matches `cidr` or `geoip`.
 * - For an IP address, domain matchers look at the sniffed name when there is one, and match nothing
 *   otherwise, while `cidr` and `geoip` still look at the address.
 * - An IPv4-mapped IPv6 address, of the destination or of the client, is the IPv4 address in it.
 */
export class Router {
  readonly #default: string;
  readonly #exits: readonly string[];
  /** Per rule: its tag, as a position in `#exits`. */
  readonly #ruleExits: Uint32Array;
  readonly #rules: RuleIndex;
  /** The rules with a domain matcher, as they would decide if these matched. */
  readonly #domainRules: RuleIndex;
  readonly #facts: QueryFacts;

  /**
   * @param source the rules, of which the tables are built, or tables that were built elsewhere;
   *   neither the spec nor the geo data are needed afterwards
   * @throws {RegexError} for an invalid pattern.
   */
  constructor(source: RoutingSpec | RouterTables, { regexes, compiled, geo }: RouterResources) {
    const tables = 'ruleExits' in source ? source : buildRouterTables(source, geo);
    this.#default = tables.default;
    this.#exits = tables.exits;
    this.#ruleExits = tables.ruleExits;
    this.#rules = new RuleIndex(tables.rules);
    this.#domainRules = new RuleIndex(tables.domainRules);
    const { patterns } = tables.domains;
    const matcher = patterns.length > 0 ? (compiled ?? regexes.compile(patterns)) : undefined;
    this.#facts = new QueryFacts(tables, matcher);
  }

  /** Where a flow goes: the first rule in file order of which every matcher matches. */
  route(query: RouteQuery): RouteDecision {
    this.#facts.reset(query);
    const rule = this.#rules.first(this.#facts);
    return { outbound: this.#outboundOf(rule), rule };
  }

  /**
   * Whether a sniffed name could change where this flow goes: its destination is an IP address, no
   * name is known, and before the rule that would decide now stands one that only lacks a name.
   */
  needsDomain(query: RouteQuery): boolean {
    if (query.sniffed !== undefined || ipVersion(query.host) === 0) return false;
    this.#facts.reset(query);
    const possible = this.#domainRules.first(this.#facts);
    return possible !== undefined && this.#rules.first(this.#facts, possible) === undefined;
  }

  #outboundOf(rule: number | undefined): string {
    if (rule === undefined) return this.#default;
    return this.#exits[this.#ruleExits[rule] ?? -1] ?? this.#default;
  }
}
