/** An element with a deadline. Only a `TimerWheel` changes these fields. */
export interface Timed {
  /** The list that holds the element: a slot of the wheel, `DUE`, or -1 for none. */
  slot: number;
  /** The tick by which the element is filed: never later than its deadline. */
  tick: number;
  nextTimed: Timed | undefined;
  previousTimed: Timed | undefined;
}

/** Slots of a level; a level's slot is as long as the whole level below it. */
const SLOTS = 64;
const LEVELS = 4;
/** Milliseconds of a slot, by level: 1 ms, 64 ms, 4 s, 4.4 min. */
const SPANS = [1, SLOTS, SLOTS ** 2, SLOTS ** 3] as const;
/** Ticks ahead that the wheel covers: deadlines beyond (4.6 hours) come up early and are placed again. */
const HORIZON = SLOTS ** LEVELS - SLOTS ** (LEVELS - 1);
/** The list of elements that are due. */
const DUE = SLOTS * LEVELS;

/**
 * The deadlines of many connections: setting one takes constant time, however many there are (a
 * hierarchical timing wheel, Varghese and Lauck 1987). Its resolution is 1 ms, and nothing is ever early.
 *
 * Most deadlines are moved to a later time before they are reached (an idle limit, by every packet): then
 * the element stays where it is, comes up early, and its owner schedules it again.
 */
export class TimerWheel<Item extends Timed> {
  readonly #heads: (Timed | undefined)[] = Array.from({ length: DUE + 1 }, () => undefined);
  /** A bit for each slot that is not empty: two words a level. */
  readonly #taken = new Int32Array(2 * LEVELS);
  /** The tick up to which all elements have come up. */
  #position: number;
  #size = 0;

  constructor(now: number) {
    this.#position = Math.floor(now);
  }

  get size(): number {
    return this.#size;
  }

  /** A time in milliseconds before which no deadline is reached; Infinity when there are none. */
  get earliest(): number {
    return this.#heads[DUE] === undefined ? this.#nextStop() : this.#position;
  }

  /** Sets the deadline of an element. With Infinity the element keeps its slot, if it has one. */
  schedule(item: Item, deadline: number): void {
    if (deadline === Infinity) return;
    const tick = Math.max(this.#position, Math.ceil(deadline));
    if (item.slot >= 0) {
      if (tick >= item.tick) return;
      this.#unlink(item);
    }
    this.#place(item, tick);
  }

  /** Removes and returns an element that is due. Its deadline may have been moved: schedule it again then. */
  take(now: number): Item | undefined {
    const tick = Math.floor(now);
    for (;;) {
      const due = this.#heads[DUE];
      if (due !== undefined) {
        this.#unlink(due);
        return due as Item; // only Items are ever placed
      }
      const stop = this.#nextStop();
      if (stop > tick) {
        this.#position = Math.max(this.#position, tick);
        return undefined;
      }
      this.#position = stop;
      // From the highest level down: its elements may belong to slots of lower levels that begin here, too.
      for (let level = LEVELS - 1; level >= 0; level--) this.#open(level);
    }
  }

  remove(item: Item): void {
    if (item.slot >= 0) this.#unlink(item);
  }

  /** Returns the start of the next slot that is not empty. */
  #nextStop(): number {
    let earliest = Infinity;
    for (let level = 0; level < LEVELS; level++) {
      const span = SPANS[level] as number; // as many as levels
      const block = Math.floor(this.#position / span);
      const ahead = this.#slotsAhead(level, block & (SLOTS - 1));
      if (ahead >= 0) earliest = Math.min(earliest, (block + ahead) * span);
    }
    return earliest;
  }

  /** Returns the distance from slot `from`, around the wheel, to the next one that is not empty; or -1. */
  #slotsAhead(level: number, from: number): number {
    const low = this.#taken[2 * level] as number;
    const high = this.#taken[2 * level + 1] as number;
    if ((low | high) === 0) return -1;
    const found = lowestFrom(low, high, from);
    return found >= 0 ? found - from : lowestFrom(low, high, 0) + SLOTS - from;
  }

  /** Distributes the elements of the slot that begins at the current position. */
  #open(level: number): void {
    const span = SPANS[level] as number;
    if (this.#position % span !== 0) return;
    const slot = level * SLOTS + (Math.floor(this.#position / span) & (SLOTS - 1));
    for (;;) {
      const item = this.#heads[slot];
      if (item === undefined) return;
      this.#unlink(item);
      if (item.tick <= this.#position) this.#link(item, DUE);
      else this.#place(item, item.tick);
    }
  }

  #place(item: Timed, tick: number): void {
    item.tick = Math.min(tick, this.#position + HORIZON);
    let level = 0;
    for (; level < LEVELS - 1; level++) {
      const span = SPANS[level] as number;
      if (Math.floor(item.tick / span) - Math.floor(this.#position / span) < SLOTS) break;
    }
    const span = SPANS[level] as number;
    this.#link(item, level * SLOTS + (Math.floor(item.tick / span) & (SLOTS - 1)));
  }

  #link(item: Timed, slot: number): void {
    const head = this.#heads[slot];
    item.slot = slot;
    item.nextTimed = head;
    item.previousTimed = undefined;
    if (head !== undefined) head.previousTimed = item;
    this.#heads[slot] = item;
    this.#size++;
    if (slot !== DUE) this.#mark(slot, true);
  }

  #unlink(item: Timed): void {
    const { slot, nextTimed, previousTimed } = item;
    if (nextTimed !== undefined) nextTimed.previousTimed = previousTimed;
    if (previousTimed === undefined) this.#heads[slot] = nextTimed;
    else previousTimed.nextTimed = nextTimed;
    item.slot = -1;
    item.nextTimed = undefined;
    item.previousTimed = undefined;
    this.#size--;
    if (slot !== DUE && this.#heads[slot] === undefined) this.#mark(slot, false);
  }

  #mark(slot: number, isTaken: boolean): void {
    const word = slot >> 5;
    const bits = this.#taken[word] as number; // two words a level
    const bit = 1 << (slot & 31);
    this.#taken[word] = isTaken ? bits | bit : bits & ~bit;
  }
}

/** Returns the lowest set bit of 64, at or above `from`; -1 for none. */
function lowestFrom(low: number, high: number, from: number): number {
  if (from < 32) {
    const rest = low & (-1 << from);
    if (rest !== 0) return trailingZeros(rest);
    return high === 0 ? -1 : 32 + trailingZeros(high);
  }
  const rest = high & (-1 << (from - 32));
  return rest === 0 ? -1 : 32 + trailingZeros(rest);
}

const trailingZeros = (word: number): number => 31 - Math.clz32(word & -word);

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

/**
 * A few deadlines by name, in milliseconds; Infinity for those that are not set.
 *
 * They are kept in an array: for a handful of names `indexOf` is faster than a property whose name varies,
 * and than a Map (40 instead of 60 and 70 ns for the calls of one QUIC packet).
 */
export class NamedDeadlines<Name extends string> {
  readonly #names: readonly Name[];
  readonly #at: number[];

  constructor(names: readonly Name[]) {
    this.#names = names;
    this.#at = names.map(() => Infinity);
  }

  /** The earliest deadline; Infinity when none is set. */
  get next(): number {
    const at = this.#at;
    let next = Infinity;
    for (let index = 0; index < at.length; index++) {
      const each = at[index] as number; // within the array
      if (each < next) next = each;
    }
    return next;
  }

  at(name: Name): number {
    return this.#at[this.#names.indexOf(name)] as number; // each name has a place
  }

  isSet(name: Name): boolean {
    return this.at(name) !== Infinity;
  }

  isDue(name: Name, now: number): boolean {
    return now >= this.at(name);
  }

  set(name: Name, at: number): void {
    this.#at[this.#names.indexOf(name)] = at;
  }

  clear(name: Name): void {
    this.set(name, Infinity);
  }

  clearAll(): void {
    const at = this.#at;
    for (let index = 0; index < at.length; index++) at[index] = Infinity;
  }

  /** Whether the deadline of `name` has passed; if so, it is cleared. */
  take(name: Name, now: number): boolean {
    const isDue = this.isDue(name, now);
    if (isDue) this.clear(name);
    return isDue;
  }
}
