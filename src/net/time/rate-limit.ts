/** At most so many events a second, as many at once: a token bucket. */
export class RateLimit {
  readonly #perSecond: number;
  #left: number;
  #filledAt = -Infinity;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
  }

  /** Whether one more event is within the limit. @param now milliseconds. */
  take(now: number): boolean {
    const filled = ((now - this.#filledAt) / 1000) * this.#perSecond;
    this.#left = Math.min(this.#perSecond, this.#left + filled);
    this.#filledAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
