const FIRST_CAPACITY = 8;
/** The bounds shared by empty sets: most sets stay empty. */
const NO_BOUNDS = new Float64Array(0);

/**
 * A set of numbers as sorted ranges, none of which touch each other: offsets that were received, lost
 * or acknowledged. Its users bound the number of ranges. Plain numbers in one array: a change at either
 * end, the usual case, moves nothing or little, one in the middle moves 16 bytes for each later range.
 */
export class RangeSet {
  /** Start and end (excluded) of each range in turn. */
  #bounds = NO_BOUNDS;
  #size = 0;

  /** The number of ranges. */
  get size(): number {
    return this.#size;
  }

  start(index: number): number {
    return this.#bounds[index * 2] as number; // the caller passes an index below `size`; here and below
  }

  /** Returns the end of a range (excluded). */
  end(index: number): number {
    return this.#bounds[index * 2 + 1] as number;
  }

  /** Returns the index of the first range that ends after `offset`; `size` when there is none. */
  find(offset: number): number {
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.end(middle) > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Whether all numbers from `start` to `end` (excluded), which is greater, are in the set. */
  has(start: number, end: number): boolean {
    const index = this.find(start);
    return index < this.#size && this.start(index) <= start && end <= this.end(index);
  }

  add(start: number, end: number): void {
    if (start >= end) return;
    // The new range replaces those that it overlaps or touches.
    const first = this.find(start - 1);
    let last = first;
    let from = start;
    let to = end;
    while (last < this.#size && this.start(last) <= end) {
      from = Math.min(from, this.start(last));
      to = Math.max(to, this.end(last));
      last++;
    }
    this.#replace(first, last, 1);
    this.#bounds[first * 2] = from;
    this.#bounds[first * 2 + 1] = to;
  }

  remove(start: number, end: number): void {
    if (start >= end) return;
    const first = this.find(start);
    let last = first;
    while (last < this.#size && this.start(last) < end) last++;
    if (first === last) return;
    const from = this.start(first);
    const to = this.end(last - 1);
    const before = from < start ? 1 : 0;
    const after = to > end ? 1 : 0;
    this.#replace(first, last, before + after);
    if (before > 0) {
      this.#bounds[first * 2] = from;
      this.#bounds[first * 2 + 1] = start;
    }
    if (after > 0) {
      this.#bounds[(first + before) * 2] = end;
      this.#bounds[(first + before) * 2 + 1] = to;
    }
  }

  clear(): void {
    this.#size = 0;
    this.#bounds = NO_BOUNDS;
  }

  /** Makes room for `count` ranges instead of those from `first` to `last` (excluded). */
  #replace(first: number, last: number, count: number): void {
    const size = this.#size - (last - first) + count;
    if (size * 2 > this.#bounds.length) {
      const bounds = new Float64Array(Math.max(FIRST_CAPACITY * 2, this.#bounds.length * 2));
      bounds.set(this.#bounds);
      this.#bounds = bounds;
    }
    if (last < this.#size && first + count !== last) {
      this.#bounds.copyWithin((first + count) * 2, last * 2, this.#size * 2);
    }
    this.#size = size;
  }
}
