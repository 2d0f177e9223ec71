const SLOTS_PER_BLOCK = 1024;

/** Two totals of bytes, in shared memory. */
export class ByteCounter {
  readonly #cells: Float64Array<SharedArrayBuffer>;
  readonly #at: number;

  constructor(cells: Float64Array<SharedArrayBuffer>, at: number) {
    this.#cells = cells;
    this.#at = at;
  }

  get up(): number {
    return this.#cells[this.#at] ?? 0;
  }

  get down(): number {
    return this.#cells[this.#at + 1] ?? 0;
  }

  addUp(bytes: number): void {
    this.#cells[this.#at] = this.up + bytes;
  }

  addDown(bytes: number): void {
    this.#cells[this.#at + 1] = this.down + bytes;
  }

  reset(): void {
    this.#cells[this.#at] = 0;
    this.#cells[this.#at + 1] = 0;
  }
}

/**
 * Allocates counters in blocks of shared memory, so that a relay outside this thread can count the
 * bytes that it moves while the tracker reads them. Doubles hold whole numbers up to 2^53.
 */
export class CounterSlab {
  readonly #free: ByteCounter[] = [];

  take(): ByteCounter {
    if (this.#free.length === 0) this.#grow();
    const counter = this.#free.pop();
    if (!counter) throw new RangeError('a block of counters is never empty');
    counter.reset();
    return counter;
  }

  /** Returns a counter to the slab, for another flow. */
  release(counter: ByteCounter): void {
    this.#free.push(counter);
  }

  #grow(): void {
    const bytes = SLOTS_PER_BLOCK * 2 * Float64Array.BYTES_PER_ELEMENT;
    const cells = new Float64Array(new SharedArrayBuffer(bytes));
    for (let slot = SLOTS_PER_BLOCK - 1; slot >= 0; slot--) {
      this.#free.push(new ByteCounter(cells, slot * 2));
    }
  }
}
