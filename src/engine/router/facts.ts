import type { Condition, Space } from './conditions.ts';
import type { Hits } from './hits.ts';

/** What is known about one query: in each space, the lists that its value is in. */
export interface Facts {
  /** `undefined` where the query has no value: an IP destination has no domain. */
  hits(space: Space): Hits | undefined;
}

/** Whether a condition holds. */
export function holds({ space, lists, outside }: Condition, facts: Facts): boolean {
  const hits = facts.hits(space);
  if (!hits) return false;
  return lists.some((list) => hits.has(list)) || outside.some((list) => !hits.has(list));
}
