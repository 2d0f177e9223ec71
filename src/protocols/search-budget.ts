import type { Clock } from '../net/clock.ts';

/** The share of all time that searches may take in the long run. */
const SHARE = 0.2;
/** What they may take at once after a pause. */
const MOST_SAVED_MS = 20;

/**
 * Bounds the time that is spent on finding out which user sent something: an unauthenticated client
 * can make a server look, from any source address, and with many users each search takes
 * milliseconds in which no other client is served.
 *
 * A search that takes more than was left is paid for by those after it.
 */
export class SearchBudget {
  readonly #clock: Clock;
  #left = MOST_SAVED_MS;
  #countedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#countedAt = clock.now();
  }

  /** What the search finds; `undefined`, without a search, when there is no time left for one. */
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

  /** How long it takes, from the last search on, until one of so many milliseconds is paid for. */
  waitFor(milliseconds: number): number {
    return Math.max(0, (milliseconds - this.#left) / SHARE);
  }
}
