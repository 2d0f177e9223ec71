import { SentFacts } from '@weir/congestion';
import { FIRST_SEGMENT_CAPACITY, KEPT_SEGMENT_CAPACITY } from '../../limits.ts';

/** The state of a sent segment, as bits. */
export const SegmentFlag = {
  /** The segment counts as in flight: neither acknowledged nor lost. */
  IN_FLIGHT: 1,
  SACKED: 2,
  /** The segment has to be retransmitted. */
  LOST: 4,
  /** The segment was sent more than once. */
  RETRANSMITTED: 8,
  /** The loss of an earlier transmission was reported to congestion control. */
  REPORTED: 16,
} as const;

const { IN_FLIGHT } = SegmentFlag;
const NONE = -1;

/** Tables kept for reuse, since connections often have nothing in flight and then data again. */
const SPARE_TABLES = 64;

/** Memory for segments: plain numbers in columns, indexed by slot. */
class SegmentTable {
  readonly capacity: number;
  readonly facts: SentFacts;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly transmission: Float64Array;
  readonly lostSentAt: Float64Array;
  readonly flags: Uint8Array;
  readonly older: Int32Array;
  /** The next newer segment in flight; in a free slot the next free one. */
  readonly newer: Int32Array;
  /** Slots in the order of offsets. Twice the capacity, so that it is seldom moved. */
  readonly order: Int32Array;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.facts = new SentFacts(capacity);
    this.start = new Float64Array(capacity);
    this.end = new Float64Array(capacity);
    this.transmission = new Float64Array(capacity);
    this.lostSentAt = new Float64Array(capacity);
    this.flags = new Uint8Array(capacity);
    this.older = new Int32Array(capacity);
    this.newer = new Int32Array(capacity);
    this.order = new Int32Array(capacity * 2);
  }

  /** Returns a table of another capacity, with the first `slots` of this one. */
  grown(capacity: number, slots: number): SegmentTable {
    const table = new SegmentTable(capacity);
    table.facts.rows.set(this.facts.rows);
    for (const column of COLUMNS) table[column].set(this[column].subarray(0, slots));
    return table;
  }
}

const COLUMNS = ['start', 'end', 'transmission', 'lostSentAt', 'flags', 'older', 'newer'] as const;

/** The table shared by connections with nothing in flight: most of them, most of the time. */
const NO_TABLE = new SegmentTable(0);
const spare: SegmentTable[] = [];

/**
 * The segments between SND.UNA and SND.NXT, in two orders: by offset, without gaps, in an array with binary
 * search; and those in flight by the time of their last transmission, in a linked list, as RACK needs them
 * (RFC 8985 §6.1). Nothing is allocated per segment, and an empty queue holds no memory.
 */
export class SentSegments {
  #table = NO_TABLE;
  #free = NONE;
  /** The first slot that was never used. */
  #unused = 0;
  /** The index of the first segment in `order`. */
  #first = 0;
  /** Number of segments. */
  count = 0;
  /** The segment in flight whose last transmission is the oldest; -1 for none. */
  oldest = NONE;
  #newest = NONE;

  /** Allocated capacity in segments, for tests of the bound. */
  get capacity(): number {
    return this.#table.capacity;
  }

  /** The facts of transmissions, by slot. The object is replaced as the table grows. */
  get facts(): SentFacts {
    return this.#table.facts;
  }

  /** Returns the slot of a segment by its index in the order of offsets. */
  at(index: number): number {
    return this.#table.order[this.#first + index] as number; // callers keep below `count`; here and below
  }

  start(slot: number): number {
    return this.#table.start[slot] as number;
  }

  end(slot: number): number {
    return this.#table.end[slot] as number;
  }

  flags(slot: number): number {
    return this.#table.flags[slot] as number;
  }

  setFlags(slot: number, flags: number): void {
    this.#table.flags[slot] = flags;
  }

  /** Returns the number of a segment's last transmission: transmissions are numbered in their order. */
  transmission(slot: number): number {
    return this.#table.transmission[slot] as number;
  }

  /** Returns the time of the transmission whose loss was last reported. */
  lostSentAt(slot: number): number {
    return this.#table.lostSentAt[slot] as number;
  }

  setLostSentAt(slot: number, sentAt: number): void {
    this.#table.lostSentAt[slot] = sentAt;
  }

  /** Returns the index of the first segment that ends after `offset`; `count` if there is none. */
  find(offset: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.end(this.at(middle)) > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Appends a segment. Returns its slot; `enlist` follows when it was sent. */
  append(start: number, end: number): number {
    const slot = this.#take();
    this.#table.start[slot] = start;
    this.#table.end[slot] = end;
    this.#table.flags[slot] = 0;
    this.#insert(this.count, slot);
    return slot;
  }

  /** Divides the segment at an index in two; the first one ends at `offset`. */
  divide(index: number, offset: number): void {
    const rest = this.#take();
    const slot = this.at(index);
    this.#table.facts.divide(slot, rest, offset - this.start(slot));
    this.#table.start[rest] = offset;
    this.#table.end[rest] = this.end(slot);
    this.#table.end[slot] = offset;
    this.#table.transmission[rest] = this.transmission(slot);
    this.#table.lostSentAt[rest] = this.lostSentAt(slot);
    this.#table.flags[rest] = this.flags(slot);
    this.#insert(index + 1, rest);
    if ((this.flags(slot) & IN_FLIGHT) !== 0) this.#link(rest, slot);
  }

  /** Removes the first segment, which is no longer in flight. */
  removeFirst(): void {
    const slot = this.at(0);
    this.#table.newer[slot] = this.#free;
    this.#free = slot;
    this.#first++;
    if (--this.count > 0) return;
    this.#release();
  }

  /** Called when a segment was sent: it is in flight, and the newest transmission. */
  enlist(slot: number, transmission: number): void {
    this.#table.transmission[slot] = transmission;
    this.#table.flags[slot] = this.flags(slot) | IN_FLIGHT;
    this.#link(slot, this.#newest);
  }

  /** Called when a segment is no longer in flight. */
  delist(slot: number): void {
    const older = this.#table.older[slot] as number;
    const newer = this.#table.newer[slot] as number;
    if (older === NONE) this.oldest = newer;
    else this.#table.newer[older] = newer;
    if (newer === NONE) this.#newest = older;
    else this.#table.older[newer] = older;
    this.#table.flags[slot] = this.flags(slot) & ~IN_FLIGHT;
  }

  #link(slot: number, older: number): void {
    const newer = older === NONE ? NONE : (this.#table.newer[older] as number);
    this.#table.older[slot] = older;
    this.#table.newer[slot] = newer;
    if (older === NONE) this.oldest = slot;
    else this.#table.newer[older] = slot;
    if (newer === NONE) this.#newest = slot;
    else this.#table.older[newer] = slot;
  }

  #take(): number {
    const slot = this.#free;
    if (slot !== NONE) {
      this.#free = this.#table.newer[slot] as number;
      return slot;
    }
    if (this.#unused === this.#table.capacity) this.#grow();
    return this.#unused++;
  }

  #insert(index: number, slot: number): void {
    const order = this.#table.order;
    if (this.#first + this.count === order.length) {
      order.copyWithin(0, this.#first);
      this.#first = 0;
    }
    const at = this.#first + index;
    if (index < this.count) order.copyWithin(at + 1, at, this.#first + this.count);
    order[at] = slot;
    this.count++;
  }

  #grow(): void {
    const table = this.#table;
    if (table === NO_TABLE) {
      this.#table = spare.pop() ?? new SegmentTable(FIRST_SEGMENT_CAPACITY);
      return;
    }
    this.#table = table.grown(table.capacity * 2, this.#unused);
    this.#table.order.set(table.order.subarray(this.#first, this.#first + this.count));
    this.#first = 0;
  }

  /** Releases the table of the empty queue; a small one is kept for other queues. */
  #release(): void {
    const table = this.#table;
    this.#table = NO_TABLE;
    this.#first = 0;
    this.#unused = 0;
    this.#free = NONE;
    const isKept = table.capacity <= KEPT_SEGMENT_CAPACITY && spare.length < SPARE_TABLES;
    if (isKept) spare.push(table);
  }
}
