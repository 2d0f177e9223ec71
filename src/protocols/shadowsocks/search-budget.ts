import type { Clock } from '../../net/clock.ts';

/** The share of all time that searches may take in the long run. */
const SHARE = 0.2;
/** What they may take at once after a pause. */
const MOST_SAVED_MS = 20;

/**
 * Bounds the time that is spent on looking for the sender of datagrams: anybody can make a server
 * look, from any source address that he likes, and with many users each look takes milliseconds in
 * which nobody else is served.
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
}
