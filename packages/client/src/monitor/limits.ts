/** Milliseconds for which closed flows are kept. */
export const CLOSED_MS = 30_000;

/** Maximum number of closed flows; the oldest are dropped. */
export const MOST_CLOSED = 20_000;

/** Maximum number of open flows: far more than one process can have, so that a longer list is not Weir's. */
export const MOST_OPEN = 400_000;

/** Minimum milliseconds between two calls of a listener. */
export const TURN_MS = 250;

/** Milliseconds between two comparisons of the routes' entity tag. */
export const ROUTES_MS = 5_000;

/** Milliseconds between two requests for the status, which costs Weir less than a millisecond. */
export const STATUS_MS = 2_000;

/** Milliseconds between two searches for a missing control socket. */
export const FIND_MS = 10_000;

/** Milliseconds between attempts to reach a lost API; doubled after each failure. */
export const RETRY_MS = { first: 250, most: 5_000 } as const;

/** Minimum milliseconds between two lists of flows. */
export const LIST_MS = 1_000;

/**
 * Milliseconds between two lists of flows. A list takes Weir 2 ms of processor time per 1,000 flows (2.1 ms for 1,000
 * and 5.7 ms for 3,000, measured over 60 lists and more), and should take less than 2 % of a core: at this rate it is
 * 0.4 % from 2,000 to 10,000 flows, then more, and 2 % from 50,000 on. A profile of the bench at 10,000 flows
 * attributes some 3 % to it, as docs/performance.md says: the difference is not explained.
 */
export const listPeriod = (flows: number): number =>
  Math.max(LIST_MS, Math.min(5_000, flows / 2), flows / 10);
