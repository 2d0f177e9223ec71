/**
 * The circuits of one listener: TCP streams and UDP associations of all its clients, bounded
 * together.
 */
export class Circuits {
  #limit: number;
  #open = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#open;
  }

  get limit(): number {
    return this.#limit;
  }

  /** The largest number of circuits; applies to those opened from now on. */
  set limit(limit: number) {
    this.#limit = limit;
  }

  /** Counts another circuit. @returns whether there was room for it. */
  open(): boolean {
    if (this.#open >= this.#limit) return false;
    this.#open++;
    return true;
  }

  /** Called once for each circuit that was opened. */
  close(): void {
    this.#open--;
  }
}
