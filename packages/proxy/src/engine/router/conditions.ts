/** Fields in the order in which rules are indexed by them: the most selective first. */
export const QUERY_FIELDS = [
  'domain',
  'destination',
  'source',
  'port',
  'inbound',
  'network',
] as const;
/** The property of a flow that a condition examines. Lists are numbered per field. */
export type QueryField = (typeof QUERY_FIELDS)[number];

/** The matchers of a rule, in the order in which they are examined. */
export const MATCHERS = [
  'domain_full',
  'domain_suffix',
  'domain_keyword',
  'domain_regex',
  'geosite',
  'cidr',
  'geoip',
  'source_cidr',
  'port',
  'inbound_tag',
  'network',
] as const;
export type MatcherKey = (typeof MATCHERS)[number];

/**
 * One matcher of a rule. The condition holds if the query's value is in any of `lists` or not in any one of `outside`,
 * and never for a query without a value in this field.
 */
export interface Condition {
  readonly key: MatcherKey;
  readonly field: QueryField;
  readonly lists: readonly number[];
  readonly outside: readonly number[];
}

/** A rule that matches if all conditions hold. */
export interface IndexedRule {
  /** The position of the rule in the configuration. */
  readonly rule: number;
  readonly conditions: readonly Condition[];
}

/**
 * The lists that a value is in: filled by a lookup in a table, read by conditions.
 *
 * Lists are small numbers. The object is reused for every query, so that a lookup allocates nothing.
 */
export class Hits {
  /** The lists, each once, in any order. */
  readonly lists: number[] = [];
  readonly #marks: Uint8Array;

  /**
   * Creates an empty set of lists.
   * @param size one more than the highest list
   */
  constructor(size: number) {
    this.#marks = new Uint8Array(size);
  }

  add(list: number): void {
    if (this.#marks[list] === 1) return;
    this.#marks[list] = 1;
    this.lists.push(list);
  }

  has(list: number): boolean {
    return this.#marks[list] === 1;
  }

  clear(): void {
    for (const list of this.lists) this.#marks[list] = 0;
    this.lists.length = 0;
  }
}

/** The lists that the value of each field of a query is in. */
export interface Facts {
  /** Returns the lists of a field; `undefined` if the query has no value: an IP address has no domain, for instance. */
  hits(field: QueryField): Hits | undefined;
}
