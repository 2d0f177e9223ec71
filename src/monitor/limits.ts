/** How long flows that have closed stay known. */
export const CLOSED_MS = 30_000;

/** Flows that have closed, at most; the oldest go first. */
export const MOST_CLOSED = 20_000;

/** Flows that are open, at most: far more than one process can have, so that more are no Weir's. */
export const MOST_OPEN = 400_000;

/** Time between two calls of a listener, at least. */
export const TURN_MS = 250;

/** How often the entity tag of the routes is compared. */
export const ROUTES_MS = 5_000;

/** How often the status is requested, which costs Weir less than a millisecond. */
export const STATUS_MS = 2_000;

/** How often a control socket that is missing is looked for. */
export const FIND_MS = 10_000;

/** Between attempts to reach an API that was lost; doubled after each failure. */
export const RETRY_MS = { first: 250, most: 5_000 } as const;

/** Time between two lists of flows, at least. */
export const LIST_MS = 1_000;

/**
 * Time between two lists of flows. A list takes Weir 2 ms of processor time for each 1,000 flows (2.1 ms for 1,000 and
 * 5.7 ms for 3,000, measured over 60 lists and more), and is to take less than 2 % of a core: at this pace it is 0.4 %
 * from 2,000 to 10,000 flows, then more, and 2 % from 50,000 on. A profile of the bench at 10,000 flows has some 3 % for
 * it, as docs/performance.md says: what is more there is not explained.
 */
export const listPeriod = (flows: number): number =>
  Math.max(LIST_MS, Math.min(5_000, flows / 2), flows / 10);
