import type { Clock } from '../../net/time/clock.ts';

/** The share of time that searches may take in the long run. */
const SHARE = 0.2;
/** Milliseconds that accumulate at most while there are no searches. */
const MOST_SAVED_MS = 20;

/**
 * Bounds the time of searches for the sender of a message: an unauthenticated client can cause one
 * from any source address, and among many users each takes milliseconds in which no other client is
 * served.
 *
 * A search that exceeds the budget reduces the time for the next ones.
 */
export class SearchBudget {
  readonly #clock: Clock;
  #left = MOST_SAVED_MS;
  #countedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedAt = clock.now();
  }

  /** Runs a search and returns its result; `undefined`, without a search, when no time is left. */
  spend<T>(search: () => T | undefined): T | undefined {
    const began = this.#clock.now();
    const earned = (began - this.#countedAt) * SHARE;
    this.#countedAt = began;
    this.#left = Math.min(MOST_SAVED_MS, this.#left + earned);
    if (this.#left <= 0) return undefined;
    try {
      return search();
    } finally {
      this.#left -= this.#clock.now() - began;
    }
  }

  /** Returns the milliseconds after the last search until the budget allows one of this length. */
  waitFor(milliseconds: number): number {
    return Math.max(0, (milliseconds - this.#left) / SHARE);
  }
}
