/** A token bucket: limits events to a rate, with bursts up to its size. It is full at first. */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #filledAt: number | undefined;

  /** @param burst the size of the bucket; the events of one second by default. */
  constructor(perSecond: number, burst = perSecond) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#left = burst;
  }

  /** Takes `cost` events if they are within the limit. @param now milliseconds. */
  take(now: number, cost = 1): boolean {
    const elapsed = now - (this.#filledAt ?? now);
    this.#filledAt = now;
    this.#left = Math.min(this.#burst, this.#left + (elapsed * this.#perSecond) / 1000);
    if (this.#left < cost) return false;
    this.#left -= cost;
    return true;
  }

  /** Gives one event back to the bucket. */
  giveBack(): void {
    this.#left = Math.min(this.#burst, this.#left + 1);
  }
}
