import type { Space } from './conditions.ts';
import type { Hits } from './hits.ts';

/** What is known about one query: in each space, the lists that its value is in. */
export interface Facts {
  /** `undefined` where the query has no value: an IP destination has no domain. */
  hits(space: Space): Hits | undefined;
}
