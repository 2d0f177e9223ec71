/** An element with a deadline. Only a `DeadlineQueue` changes these fields. */
export interface Scheduled {
  /** Index of the element in the heap; -1 when it is not queued. */
  place: number;
  /** The time that the element is queued for: never later than its deadline. */
  placedAt: number;
}

/**
 * The earliest deadline of many: a binary heap.
 *
 * Most deadlines are postponed before they are reached (an idle limit, by every packet): then the element keeps
 * its place, comes up early, and its owner schedules it again.
 */
export class DeadlineQueue<Item extends Scheduled> {
  readonly #heap: Item[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** A time before which no deadline is reached; Infinity when there are none. */
  get earliest(): number {
    return this.#heap[0]?.placedAt ?? Infinity;
  }

  /** Sets the deadline of an element; Infinity for none. */
  schedule(item: Item, deadline: number): void {
    if (item.place < 0) {
      if (deadline === Infinity) return;
      item.placedAt = deadline;
      this.#heap.push(item);
      this.#rise(item, this.#heap.length - 1);
    } else if (deadline < item.placedAt) {
      item.placedAt = deadline;
      this.#rise(item, item.place);
    }
  }

  /** Removes and returns an element that has come up. If its deadline is later, the caller schedules it again. */
  take(now: number): Item | undefined {
    const [first] = this.#heap;
    if (first === undefined || first.placedAt > now) return undefined;
    this.remove(first);
    return first;
  }

  remove(item: Item): void {
    const { place } = item;
    if (place < 0) return;
    item.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === item) return;
    this.#rise(last, place);
    this.#sink(last, last.place);
  }

  /** Puts `item` into the empty `place`, or above it. */
  #rise(item: Item, place: number): void {
    let at = place;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.#heap[above] as Item; // `above` is within
      if (parent.placedAt <= item.placedAt) break;
      this.#put(parent, at);
      at = above;
    }
    this.#put(item, at);
  }

  #sink(item: Item, place: number): void {
    let at = place;
    for (;;) {
      const left = this.#heap[2 * at + 1];
      const right = this.#heap[2 * at + 2];
      const least = right && left && right.placedAt < left.placedAt ? right : left;
      if (least === undefined || least.placedAt >= item.placedAt) break;
      const below = least.place;
      this.#put(least, at);
      at = below;
    }
    this.#put(item, at);
  }

  #put(item: Item, place: number): void {
    this.#heap[place] = item;
    item.place = place;
  }
}
