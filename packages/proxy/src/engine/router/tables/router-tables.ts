import type { RoutingSpec } from '../../../spec.ts';
import type { GeoData } from '../../geo/geo-data.ts';
import { BlockTable, type BlockTableData } from './block-table.ts';
import { compileRules, type CompiledRules } from '../compile-rules.ts';
import { collectDomains, type DomainTableData } from './domain-table.ts';
import type { IndexedRule } from '../conditions.ts';
import type { BlockList, NetworkList } from './network-list.ts';
import { buildRuleIndex, type RuleIndexData } from '../rule-index.ts';

/**
 * The tables of a router as plain data: building them is the costly part of creating a router, and can be done
 * in another thread. Their buffers can be transferred. Patterns are compiled where they are used.
 */
export interface RouterTables {
  readonly default: string;
  /** The tags that rules name, each once. */
  readonly targets: readonly string[];
  /** The target of each rule of the configuration, as a position in `targets`. */
  readonly ruleTargets: Uint32Array;
  readonly rules: RuleIndexData;
  /** The rules with a domain matcher, without their domain conditions. */
  readonly domainRules: RuleIndexData;
  readonly domains: DomainTableData;
  readonly destinations: NetworkTableData;
  readonly sources: NetworkTableData;
  readonly ports: BlockTableData;
  /** Number of port lists. */
  readonly portLists: number;
  readonly inbounds: readonly string[];
  readonly networks: readonly string[];
}

/** Networks of both families. */
export interface NetworkTableData {
  readonly lists: number;
  readonly v4: BlockTableData;
  readonly v6: BlockTableData;
}

/** Builds the tables. The spec and the geo data are not needed afterwards. */
export const buildRouterTables = (spec: RoutingSpec, geo: GeoData | undefined): RouterTables =>
  assembleTables(spec, compileRules(spec.rules, geo));

/**
 * Assembles the tables.
 * @param compiled the rules of `spec`
 */
export function assembleTables(spec: RoutingSpec, compiled: CompiledRules): RouterTables {
  const targets = new Map<string, number>();
  const ruleTargets = Uint32Array.from(spec.rules, ({ outbound }) => {
    const known = targets.get(outbound) ?? targets.size;
    targets.set(outbound, known);
    return known;
  });
  return {
    default: spec.default,
    targets: [...targets.keys()],
    ruleTargets,
    rules: buildRuleIndex(compiled.rules),
    domainRules: buildRuleIndex(
      compiled.rules.filter(looksAtDomain).map(({ rule, conditions }) => ({
        rule,
        conditions: conditions.filter(({ field }) => field !== 'domain'),
      })),
    ),
    domains: collectDomains(compiled.domains),
    destinations: networkTable(compiled.destinations),
    sources: networkTable(compiled.sources),
    ports: blockTable(1, compiled.ports),
    portLists: compiled.ports.length,
    inbounds: compiled.inbounds,
    networks: compiled.networks,
  };
}

const looksAtDomain = ({ conditions }: IndexedRule): boolean =>
  conditions.some(({ field }) => field === 'domain');

const networkTable = (lists: readonly NetworkList[]): NetworkTableData => ({
  lists: lists.length,
  v4: blockTable(
    1,
    lists.map(({ v4 }) => v4),
  ),
  v6: blockTable(
    4,
    lists.map(({ v6 }) => v6),
  ),
});

const blockTable = (width: 1 | 4, lists: readonly BlockList[]): BlockTableData =>
  new BlockTable(
    width,
    lists.map((blocks, list) => ({ list, blocks })),
  ).data;
