/**
 * A set of numbers below 2^53, kept as the ranges that it consists of, in order and without neighbours.
 * For few ranges: each change costs as much as there are. Its users bound their number.
 */
export class RangeSet {
  /** Start and end (excluded) of each range in turn. */
  readonly #limits: number[] = [];

  /** How many ranges there are. */
  get count(): number {
    return this.#limits.length / 2;
  }

  /** The first number of a range. */
  start(index: number): number {
    return this.#limits[2 * index] ?? 0;
  }

  /** The number after the last one of a range. */
  end(index: number): number {
    return this.#limits[2 * index + 1] ?? 0;
  }

  /** Whether all numbers from `start` to `end` (excluded) are in the set. */
  has(start: number, end: number): boolean {
    for (let i = 0; i < this.count; i++) {
      if (this.start(i) <= start && end <= this.end(i)) return true;
    }
    return false;
  }

  /** Adds the numbers from `start` to `end` (excluded). */
  add(start: number, end: number): void {
    if (start >= end) return;
    let first = 0;
    while (first < this.count && this.end(first) < start) first++;
    let after = first;
    while (after < this.count && this.start(after) <= end) after++;
    const from = after > first ? Math.min(start, this.start(first)) : start;
    const to = after > first ? Math.max(end, this.end(after - 1)) : end;
    this.#limits.splice(2 * first, 2 * (after - first), from, to);
  }

  /** Removes the numbers from `start` to `end` (excluded). */
  remove(start: number, end: number): void {
    if (start >= end) return;
    let first = 0;
    while (first < this.count && this.end(first) <= start) first++;
    let after = first;
    while (after < this.count && this.start(after) < end) after++;
    if (after === first) return;
    const kept: number[] = [];
    if (this.start(first) < start) kept.push(this.start(first), start);
    if (end < this.end(after - 1)) kept.push(end, this.end(after - 1));
    this.#limits.splice(2 * first, 2 * (after - first), ...kept);
  }

  clear(): void {
    this.#limits.length = 0;
  }
}
