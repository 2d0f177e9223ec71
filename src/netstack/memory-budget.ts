/**
 * Memory that all connections of a stack share, in bytes. A buffer asks before it grows beyond what it
 * started with, and gives everything back at its end.
 */
export class MemoryBudget {
  readonly #limit: number;
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get used(): number {
    return this.#used;
  }

  /** Takes so many bytes, or nothing: returns whether they were there. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#limit) return false;
    this.#used += bytes;
    return true;
  }

  /** Gives back bytes that were taken. */
  release(bytes: number): void {
    this.#used -= bytes;
  }
}
