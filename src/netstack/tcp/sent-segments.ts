import { SentFacts } from '../../congestion/rate-sample.ts';
import { FIRST_SEGMENT_CAPACITY, KEPT_SEGMENT_CAPACITY } from './recovery-limits.ts';

/** What is known of a sent segment, as bits. */
export const SegmentFlag = {
  /** Its bytes count in flight: it is neither acknowledged nor lost. */
  IN_FLIGHT: 1,
  SACKED: 2,
  /** To be sent again. */
  LOST: 4,
  /** Sent more than once. */
  RETRANSMITTED: 8,
  /** Congestion control has heard of the loss of an earlier transmission. */
  REPORTED: 16,
} as const;

const { IN_FLIGHT } = SegmentFlag;
const NONE = -1;

/** The columns of a connection that has not sent anything yet: many never do. */
const NO_FACTS = new SentFacts(0);
const NO_FLOATS = new Float64Array(0);
const NO_FLAGS = new Uint8Array(0);
const NO_SLOTS = new Int32Array(0);

/**
 * The segments between SND.UNA and SND.NXT. They lie in two orders: by offset, without gaps, in an array
 * that is searched by halves; and, those in flight, by the time of their last transmission in a list, as
 * RACK needs them (RFC 8985 §6.1). Plain numbers in columns by slot; nothing is allocated for a segment.
 */
export class SentSegments {
  #capacity = 0;
  #facts = NO_FACTS;
  #start = NO_FLOATS;
  #end = NO_FLOATS;
  #transmission = NO_FLOATS;
  #lostSentAt = NO_FLOATS;
  #flags = NO_FLAGS;
  #older = NO_SLOTS;
  /** Of a free slot: the next free one. */
  #newer = NO_SLOTS;
  #free = NONE;
  /** Slots that were never used begin here. */
  #unused = 0;
  /** Slots by offset, from `#first` on; twice as long as there are slots, so that it is seldom moved. */
  #order = NO_SLOTS;
  #first = 0;
  #count = 0;
  #oldest = NONE;
  #newest = NONE;

  /** The number of segments. */
  get count(): number {
    return this.#count;
  }

  /** Segments that there is memory for, for checks of the bound. */
  get capacity(): number {
    return this.#capacity;
  }

  /** The facts of transmissions, by slot. It changes as segments are added. */
  get facts(): SentFacts {
    return this.#facts;
  }

  /** The segment in flight whose last transmission is the oldest; -1 for none. */
  get oldest(): number {
    return this.#oldest;
  }

  /** The slot of a segment by its place in the order of offsets. */
  at(index: number): number {
    return this.#order[this.#first + index] as number; // below `count`, as the caller knows; here and below
  }

  start(slot: number): number {
    return this.#start[slot] as number;
  }

  end(slot: number): number {
    return this.#end[slot] as number;
  }

  flags(slot: number): number {
    return this.#flags[slot] as number;
  }

  setFlags(slot: number, flags: number): void {
    this.#flags[slot] = flags;
  }

  /** Numbers transmissions: of two segments the one with the greater number was sent later. */
  transmission(slot: number): number {
    return this.#transmission[slot] as number;
  }

  /** When the transmission was sent whose loss was reported last. */
  lostSentAt(slot: number): number {
    return this.#lostSentAt[slot] as number;
  }

  setLostSentAt(slot: number, sentAt: number): void {
    this.#lostSentAt[slot] = sentAt;
  }

  /** The place of the first segment that ends behind `offset`; `count` when there is none. */
  find(offset: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.end(this.at(middle)) > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Adds a segment behind all others. Returns its slot; `enlist` when it has left. */
  append(start: number, end: number): number {
    const slot = this.#take();
    this.#start[slot] = start;
    this.#end[slot] = end;
    this.#flags[slot] = 0;
    this.#insert(this.#count, slot);
    return slot;
  }

  /** Divides the segment at a place in two, the first of which ends at `offset`. */
  divide(index: number, offset: number): void {
    const rest = this.#take();
    const slot = this.at(index);
    this.#facts.divide(slot, rest, offset - this.start(slot));
    this.#start[rest] = offset;
    this.#end[rest] = this.end(slot);
    this.#end[slot] = offset;
    this.#transmission[rest] = this.transmission(slot);
    this.#lostSentAt[rest] = this.lostSentAt(slot);
    this.#flags[rest] = this.flags(slot);
    this.#insert(index + 1, rest);
    if ((this.flags(slot) & IN_FLIGHT) !== 0) this.#link(rest, slot);
  }

  /** Removes the first segment, which is not in flight any more. */
  removeFirst(): void {
    const slot = this.at(0);
    this.#newer[slot] = this.#free;
    this.#free = slot;
    this.#first++;
    if (--this.#count > 0) return;
    this.#first = 0;
    // A burst long ago keeps no memory.
    if (this.#capacity > KEPT_SEGMENT_CAPACITY) this.#resize(FIRST_SEGMENT_CAPACITY);
  }

  /** A segment has left: it is in flight, and the newest transmission. */
  enlist(slot: number, transmission: number): void {
    this.#transmission[slot] = transmission;
    this.#flags[slot] = this.flags(slot) | IN_FLIGHT;
    this.#link(slot, this.#newest);
  }

  /** A segment is in flight no more. */
  delist(slot: number): void {
    const older = this.#older[slot] as number;
    const newer = this.#newer[slot] as number;
    if (older === NONE) this.#oldest = newer;
    else this.#newer[older] = newer;
    if (newer === NONE) this.#newest = older;
    else this.#older[newer] = older;
    this.#flags[slot] = this.flags(slot) & ~IN_FLIGHT;
  }

  #link(slot: number, older: number): void {
    const newer = older === NONE ? NONE : (this.#newer[older] as number);
    this.#older[slot] = older;
    this.#newer[slot] = newer;
    if (older === NONE) this.#oldest = slot;
    else this.#newer[older] = slot;
    if (newer === NONE) this.#newest = slot;
    else this.#older[newer] = slot;
  }

  #take(): number {
    const slot = this.#free;
    if (slot !== NONE) {
      this.#free = this.#newer[slot] as number;
      return slot;
    }
    if (this.#unused === this.#capacity) {
      this.#resize(Math.max(this.#capacity * 2, FIRST_SEGMENT_CAPACITY));
    }
    return this.#unused++;
  }

  #insert(index: number, slot: number): void {
    const order = this.#order;
    if (this.#first + this.#count === order.length) {
      order.copyWithin(0, this.#first);
      this.#first = 0;
    }
    const at = this.#first + index;
    if (index < this.#count) order.copyWithin(at + 1, at, this.#first + this.#count);
    order[at] = slot;
    this.#count++;
  }

  /** Grows, or begins anew when it is empty. */
  #resize(capacity: number): void {
    const kept = Math.min(this.#unused, capacity);
    const facts = new SentFacts(capacity);
    if (this.#count > 0) facts.rows.set(this.#facts.rows);
    else this.#unused = 0;
    this.#free = this.#count > 0 ? this.#free : NONE;
    this.#facts = facts;
    this.#start = resized(this.#start, new Float64Array(capacity), kept);
    this.#end = resized(this.#end, new Float64Array(capacity), kept);
    this.#transmission = resized(this.#transmission, new Float64Array(capacity), kept);
    this.#lostSentAt = resized(this.#lostSentAt, new Float64Array(capacity), kept);
    this.#flags = resized(this.#flags, new Uint8Array(capacity), kept);
    this.#older = resized(this.#older, new Int32Array(capacity), kept);
    this.#newer = resized(this.#newer, new Int32Array(capacity), kept);
    const order = new Int32Array(capacity * 2);
    order.set(this.#order.subarray(this.#first, this.#first + this.#count));
    this.#order = order;
    this.#first = 0;
    this.#capacity = capacity;
  }
}

function resized<Column extends Float64Array | Int32Array | Uint8Array>(
  from: Column,
  to: Column,
  count: number,
): Column {
  to.set(from.subarray(0, count));
  return to;
}
