import { ipVersion } from '@weir/io/addresses';
import type { RoutingSpec } from '../../spec.ts';
import type { GeoData } from '../geo/geo-data.ts';
import { QueryFacts, type RouteDecision, type RouteQuery } from './query.ts';
import type { RegexCache, RegexSet } from './tables/regex-set.ts';
import { buildRouterTables, type RouterTables } from './tables/router-tables.ts';
import { RuleIndex } from './rule-index.ts';

export interface RouterResources {
  /** Compiled patterns, kept across reloads: see RegexCache. */
  readonly regexes: RegexCache;
  /** The compiled patterns of the tables; compiled by the router if `undefined`. */
  readonly compiled?: RegexSet;
  /** The geo lists that the rules name. */
  readonly geo?: GeoData;
}

/**
 * Decides by the rules of a configuration. Rules never change; a reload creates a new router.
 *
 * - A host that is not an IP address is a domain. It is compared in lower case and without the trailing dot
 *   of a fully qualified name. It never matches `cidr` or `geoip`.
 * - For an IP address, domain matchers examine the sniffed name if there is one, and match nothing otherwise;
 *   `cidr` and `geoip` examine the address.
 * - An IPv4-mapped IPv6 address, of the destination or of the client, is the IPv4 address in it.
 */
export class Router {
  readonly #default: string;
  readonly #targets: readonly string[];
  /** The target of each rule, as a position in `#targets`. */
  readonly #ruleTargets: Uint32Array;
  readonly #rules: RuleIndex;
  /** The rules with a domain matcher, without their domain conditions. */
  readonly #domainRules: RuleIndex;
  readonly #facts: QueryFacts;

  /**
   * @param source the rules, or tables built from them; neither the spec nor the geo data are needed
   *   afterwards
   * @throws {RegexError} for an invalid pattern
   */
  constructor(source: RoutingSpec | RouterTables, { regexes, compiled, geo }: RouterResources) {
    const tables = 'ruleTargets' in source ? source : buildRouterTables(source, geo);
    this.#default = tables.default;
    this.#targets = tables.targets;
    this.#ruleTargets = tables.ruleTargets;
    this.#rules = new RuleIndex(tables.rules);
    this.#domainRules = new RuleIndex(tables.domainRules);
    const { patterns } = tables.domains;
    const matcher = patterns.length > 0 ? (compiled ?? regexes.compile(patterns)) : undefined;
    this.#facts = new QueryFacts(tables, matcher);
  }

  /** Decides by the first rule in file order whose matchers all match. */
  route(query: RouteQuery): RouteDecision {
    this.#facts.reset(query);
    const rule = this.#rules.first(this.#facts);
    return { outbound: this.#outboundOf(rule), rule };
  }

  /**
   * Whether a sniffed name could change the decision: the destination is an IP address, no name is known, and a rule
   * before the deciding one does not match only because the name is missing.
   */
  needsDomain(query: RouteQuery): boolean {
    if (query.sniffed !== undefined || ipVersion(query.host) === 0) return false;
    this.#facts.reset(query);
    const possible = this.#domainRules.first(this.#facts);
    return possible !== undefined && this.#rules.first(this.#facts, possible) === undefined;
  }

  #outboundOf(rule: number | undefined): string {
    if (rule === undefined) return this.#default;
    return this.#targets[this.#ruleTargets[rule] ?? -1] ?? this.#default;
  }
}
