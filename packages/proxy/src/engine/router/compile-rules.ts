import type { GeositeRef, RuleSpec } from '../../spec.ts';
import { geositeKey, type GeoData } from '../geo/geo-data.ts';
import type { Condition, IndexedRule, MatcherKey, QueryField } from './conditions.ts';
import { domainList, isEmptyDomainList, type DomainList, packNames } from './tables/domain-list.ts';
import {
  packNetworks,
  packPorts,
  type BlockList,
  type NetworkList,
} from './tables/network-list.ts';

/** The longest list that is shared, in entries: the key that identifies a longer one would cost more. */
const MAX_SHARED_LENGTH = 64;

/** Rules as conditions over numbered lists, and the lists of each field by number. */
export interface CompiledRules {
  readonly rules: readonly IndexedRule[];
  /** Rules that no name can match, by position, with the matcher that is the reason. */
  readonly impossible: ReadonlyMap<number, MatcherKey>;
  readonly domains: readonly DomainList[];
  readonly destinations: readonly NetworkList[];
  readonly sources: readonly NetworkList[];
  readonly ports: readonly BlockList[];
  readonly inbounds: readonly string[];
  readonly networks: readonly string[];
}

/**
 * Compiles rules to conditions over numbered lists.
 *
 * Each key of a rule is one condition; entries of a key are alternatives. Rules that can never match (a
 * geosite attribute that no entry has) are left out.
 */
export function compileRules(specs: readonly RuleSpec[], geo: GeoData | undefined): CompiledRules {
  const domains = new Numbering<DomainList>();
  const destinations = new Numbering<NetworkList>();
  const sources = new Numbering<NetworkList>();
  const ports = new Numbering<BlockList>();
  const inbounds = new Numbering<string>();
  const networks = new Numbering<string>();

  const names = (kind: 'suffix' | 'full', texts: readonly string[]): number =>
    domains.share(kind, texts, () => domainList({ [kind]: packNames(texts) }));
  const patterns = (kind: 'keyword' | 'regex', texts: readonly string[]): number =>
    domains.share(kind, texts, () => domainList({ [kind]: texts }));
  const geosite = (ref: GeositeRef): number => {
    const key = geositeKey(ref);
    return domains.share('geosite', [key], () => found(geo?.geosite.get(key), `geosite ${key}`));
  };

  const conditionsOf = (rule: RuleSpec): Condition[] => {
    const conditions: Condition[] = [];
    const add = (
      key: MatcherKey,
      field: QueryField,
      lists: readonly number[],
      outside: readonly number[] = [],
    ): void => {
      conditions.push({ key, field, lists, outside });
    };
    if (rule.domainFull.length > 0) add('domain_full', 'domain', [names('full', rule.domainFull)]);
    if (rule.domainSuffix.length > 0)
      add('domain_suffix', 'domain', [names('suffix', rule.domainSuffix)]);
    if (rule.domainKeyword.length > 0)
      add('domain_keyword', 'domain', [patterns('keyword', rule.domainKeyword)]);
    if (rule.domainRegex.length > 0)
      add('domain_regex', 'domain', [patterns('regex', rule.domainRegex)]);
    if (rule.geosite?.length) add('geosite', 'domain', rule.geosite.map(geosite));
    if (rule.cidr.length > 0) {
      add('cidr', 'destination', [
        destinations.share('cidr', rule.cidr, () => packNetworks(rule.cidr)),
      ]);
    }
    if (rule.geoip?.length) {
      const lists: number[] = [];
      const outside: number[] = [];
      for (const { code, negate } of rule.geoip) {
        const list = found(geo?.geoip.get(code.toLowerCase()), `geoip ${code}`);
        const number = destinations.share('geoip', [code.toLowerCase()], () => list.networks);
        (negate === list.inverse ? lists : outside).push(number);
      }
      add('geoip', 'destination', lists, outside);
    }
    if (rule.sourceCidr.length > 0) {
      const { sourceCidr } = rule;
      add('source_cidr', 'source', [
        sources.share('cidr', sourceCidr, () => packNetworks(sourceCidr)),
      ]);
    }
    if (rule.port.length > 0) {
      add('port', 'port', [ports.share('port', rule.port, () => packPorts(rule.port))]);
    }
    if (rule.inboundTag.length > 0) {
      add(
        'inbound_tag',
        'inbound',
        rule.inboundTag.map((tag) => inbounds.share('tag', [tag], () => tag)),
      );
    }
    const { network } = rule;
    if (network !== undefined)
      add('network', 'network', [networks.share('network', [network], () => network)]);
    return conditions;
  };

  const rules: IndexedRule[] = [];
  const impossible = new Map<number, MatcherKey>();
  specs.forEach((spec, rule) => {
    const conditions = conditionsOf(spec);
    const empty = conditions.find(
      ({ field, lists }) =>
        field === 'domain' &&
        lists.every((list) => isEmptyDomainList(domains.lists[list] ?? domainList({}))),
    );
    if (empty) impossible.set(rule, empty.key);
    else rules.push({ rule, conditions });
  });
  return {
    rules,
    impossible,
    domains: domains.lists,
    destinations: destinations.lists,
    sources: sources.lists,
    ports: ports.lists,
    inbounds: inbounds.lists,
    networks: networks.lists,
  };
}

/** Numbers the lists of a field. Rules with equal entries share a list, which is looked up once. */
class Numbering<T> {
  readonly lists: T[] = [];
  readonly #numbers = new Map<string, number>();

  share(kind: string, entries: readonly unknown[], make: () => T): number {
    if (entries.length > MAX_SHARED_LENGTH) return this.lists.push(make()) - 1;
    const key = JSON.stringify([kind, ...entries]);
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.lists.push(make()) - 1;
      this.#numbers.set(key, number);
    }
    return number;
  }
}

/**
 * Returns the list of a code. Unknown codes are refused when geo files are loaded, so a missing one would be a defect.
 */
function found<T>(list: T | undefined, what: string): T {
  if (list === undefined) throw new RangeError(`${what} was not loaded`);
  return list;
}
