/** How often something may happen: a burst, and a rate at which it is regained. */
export class Budget {
  readonly #burst: number;
  readonly #rate: number;
  #left: number;
  #at: number | undefined;

  /** @param rate a second. */
  constructor(burst: number, rate: number) {
    this.#burst = burst;
    this.#rate = rate;
    this.#left = burst;
  }

  /** Takes `cost`, 1 by default; false when less is left. `now` in milliseconds. */
  spend(now: number, cost = 1): boolean {
    const elapsed = now - (this.#at ?? now);
    this.#at = now;
    this.#left = Math.min(this.#burst, this.#left + (elapsed * this.#rate) / 1000);
    if (this.#left < cost) return false;
    this.#left -= cost;
    return true;
  }

  /** Gives one back. */
  regain(): void {
    if (this.#left < this.#burst) this.#left++;
  }
}
