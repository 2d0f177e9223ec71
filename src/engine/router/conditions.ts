/** What a condition looks at. Each has its own numbering of lists. */
export type QueryField = 'domain' | 'destination' | 'source' | 'port' | 'inbound' | 'network';

/** Fields in the order in which a rule is best found by them: the most selective first. */
export const QUERY_FIELDS: readonly QueryField[] = [
  'domain',
  'destination',
  'source',
  'port',
  'inbound',
  'network',
];

/** The keys of a rule that match something, in the order in which they are examined. */
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
 * One matcher of a rule: the query's value is in any of `lists`, or outside any of `outside`. It
 * does not hold for a query that has no value in this field.
 */
export interface Condition {
  readonly key: MatcherKey;
  readonly field: QueryField;
  readonly lists: readonly number[];
  readonly outside: readonly number[];
}

/** A rule as the index sees it: all conditions must hold. */
export interface IndexedRule {
  /** Its position in the configuration. */
  readonly rule: number;
  readonly conditions: readonly Condition[];
}

/**
 * Which lists a value is in: what a table finds, and what conditions ask.
 *
 * Lists are small numbers. One object serves query after query, so that a lookup allocates nothing.
 */
export class Hits {
  /** The lists, each once, in no special order. */
  readonly lists: number[] = [];
  readonly #marks: Uint8Array;

  /** `size` is one more than the highest list. */
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

/** What is known about one query: in each field, the lists that its value is in. */
export interface Facts {
  /** `undefined` where the query has no value: an IP destination has no domain. */
  hits(field: QueryField): Hits | undefined;
}
