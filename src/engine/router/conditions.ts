/** What a condition looks at. Each has its own numbering of lists. */
export type Space = 'domain' | 'destination' | 'source' | 'port' | 'inbound' | 'network';

/** Spaces in the order in which a rule is best found by them: the most telling first. */
export const SPACES: readonly Space[] = [
  'domain',
  'destination',
  'source',
  'port',
  'inbound',
  'network',
];

/**
 * One matcher of a rule: the query's value is in any of `lists`, or outside any of `outside`. It
 * does not hold for a query that has no value in this space.
 */
export interface Condition {
  readonly space: Space;
  readonly lists: readonly number[];
  readonly outside: readonly number[];
}

/** A rule as the index sees it: all conditions must hold. */
export interface IndexedRule {
  /** Its position in the configuration. */
  readonly rule: number;
  readonly conditions: readonly Condition[];
}
