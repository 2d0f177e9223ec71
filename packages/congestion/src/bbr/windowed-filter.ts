/** Tracks the maximum of the current and the previous period. */
export class TwoPeriodMaximum {
  #current = 0;
  #previous = 0;

  get value(): number {
    return Math.max(this.#current, this.#previous);
  }

  update(value: number): void {
    if (value > this.#current) this.#current = value;
  }

  /** Begins a new period. */
  advance(): void {
    this.#previous = this.#current;
    this.#current = 0;
  }
}

/**
 * Tracks the maximum over the last `length` units of a monotonic count, in constant memory: the best value of the
 * window, and the second and third best of later values (Kathleen Nichols' algorithm).
 */
export class WindowedMaximum {
  readonly #values = new Float64Array(3);
  readonly #times = new Float64Array(3);

  get value(): number {
    return this.#values[0] ?? 0;
  }

  update(value: number, time: number, length: number): void {
    // Read one by one: an iterator would be allocated for each acknowledgement.
    const values = this.#values;
    if (value >= (values[0] ?? 0) || time - (this.#times[2] ?? 0) > length) {
      this.#set(0, value, time);
      this.#set(1, value, time);
      this.#set(2, value, time);
      return;
    }
    if (value >= (values[1] ?? 0)) {
      this.#set(1, value, time);
      this.#set(2, value, time);
    } else if (value >= (values[2] ?? 0)) this.#set(2, value, time);
    this.#expire(value, time, length);
  }

  #expire(value: number, time: number, length: number): void {
    const bestAt = this.#times[0] ?? 0;
    const secondAt = this.#times[1] ?? 0;
    const thirdAt = this.#times[2] ?? 0;
    if (time - bestAt > length) {
      this.#shift();
      this.#set(2, value, time);
      if (time - secondAt > length) {
        this.#shift();
        this.#set(2, value, time);
      }
    } else if (secondAt === bestAt && time - bestAt > length / 4) {
      // A quarter of the window has passed without a better value: the second best is taken from later values.
      this.#set(1, value, time);
      this.#set(2, value, time);
    } else if (thirdAt === secondAt && time - bestAt > length / 2) this.#set(2, value, time);
  }

  #shift(): void {
    this.#values.copyWithin(0, 1);
    this.#times.copyWithin(0, 1);
  }

  #set(at: number, value: number, time: number): void {
    this.#values[at] = value;
    this.#times[at] = time;
  }
}
