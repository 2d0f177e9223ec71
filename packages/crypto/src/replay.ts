import { type RandomSource, SystemRandomSource } from '@weir/base/random';
import type { Clock } from '@weir/io/time';

/** Initial and maximum number of slots of a table, which is full when half of them are used. */
const FIRST_SLOTS = 1024;
const LAST_SLOTS = 2 ** 21;

/**
 * The result of a check. `forgotten`: the entry may have been seen, since its time is not later than that of an entry
 * which is no longer remembered.
 */
type ReplayVerdict = 'new' | 'seen' | 'full' | 'forgotten';

/**
 * Detects repeated entries. Remembers them for at least a given period in two alternating tables: one is filled for a
 * period while the previous one is still consulted.
 *
 * Keeps 64 bits of each entry, mixed with a random key of the process, so that a peer cannot choose entries that
 * collide.
 *
 * Each entry has a timestamp, which the caller accepts only near the wall clock. If the wall clock were set back,
 * forgotten entries would be valid again; so an entry must be later than all forgotten ones. Memory is bounded by 16
 * MiB per table; when a table is full, new entries are rejected instead of forgetting old ones.
 */
export class ReplayFilter {
  readonly #clock: Clock;
  readonly #period: number;
  readonly #last: number;
  readonly #key: bigint;
  #current: Table;
  #before: Table | undefined;
  #turnsAt: number;
  /** The latest timestamp of forgotten entries. */
  #forgotten = -Infinity;

  /** @param period minimum time for which entries are remembered, in milliseconds. */
  constructor(
    clock: Clock,
    period: number,
    lastSlots = LAST_SLOTS,
    random: RandomSource = new SystemRandomSource(),
  ) {
    this.#key = random.bytes(8).readBigUInt64LE();
    this.#clock = clock;
    this.#period = period;
    this.#last = lastSlots;
    this.#current = new Table(Math.min(FIRST_SLOTS, lastSlots));
    this.#turnsAt = clock.now() + period;
  }

  /**
   * Checks whether an entry of at least 8 bytes is new, and remembers it.
   * @param stamp timestamp of the entry, in any unit.
   */
  check(entry: Uint8Array, stamp: number): ReplayVerdict {
    this.#turn();
    if (stamp <= this.#forgotten) return 'forgotten';
    const view = new DataView(entry.buffer, entry.byteOffset, entry.byteLength);
    const mixed = ((view.getBigUint64(0) ^ this.#key) * MULTIPLIER) & MASK64;
    const low = Number(mixed & 0xffff_ffffn);
    const high = Number(mixed >> 32n);
    if (this.#before?.has(low, high) || this.#current.has(low, high)) return 'seen';
    if (this.#current.isFull) {
      if (this.#current.slots >= this.#last) return 'full';
      this.#current = this.#current.grown();
    }
    this.#current.add(low, high);
    this.#current.latest = Math.max(this.#current.latest, stamp);
    return 'new';
  }

  #turn(): void {
    const late = this.#clock.now() - this.#turnsAt;
    if (late < 0) return;
    this.#forget(this.#before);
    this.#before = this.#current;
    if (late >= this.#period) {
      this.#forget(this.#current);
      this.#before = undefined;
    }
    this.#current = new Table(Math.min(FIRST_SLOTS, this.#last));
    this.#turnsAt = this.#clock.now() + this.#period;
  }

  #forget(table: Table | undefined): void {
    if (table) this.#forgotten = Math.max(this.#forgotten, table.latest);
  }
}

const MASK64 = 2n ** 64n - 1n;
/** 2^64 over the golden ratio; odd, so that the multiplication is a bijection. */
const MULTIPLIER = 0x9e37_79b9_7f4a_7c15n;

/** A set of 64-bit numbers by open addressing; a zero upper half is a free slot. */
class Table {
  readonly slots: number;
  readonly #words: Uint32Array;
  /** The latest timestamp of the table's entries. */
  latest = -Infinity;
  #taken = 0;

  /** @param slots the number of slots, a power of two. */
  constructor(slots: number) {
    this.slots = slots;
    this.#words = new Uint32Array(slots * 2);
  }

  get isFull(): boolean {
    return this.#taken * 2 >= this.slots;
  }

  has(low: number, high: number): boolean {
    return this.#words[this.#find(low, high) + 1] !== 0;
  }

  add(low: number, high: number): void {
    const at = this.#find(low, high);
    this.#words[at] = low;
    this.#words[at + 1] = high || 1;
    this.#taken++;
  }

  grown(): Table {
    const table = new Table(this.slots * 2);
    table.latest = this.latest;
    for (let at = 0; at < this.#words.length; at += 2) {
      const high = this.#words[at + 1] ?? 0;
      if (high !== 0) table.add(this.#words[at] ?? 0, high);
    }
    return table;
  }

  /** Returns the slot of the number, or the free slot for it, which exists since the table is never full. */
  #find(low: number, high: number): number {
    const last = this.#words.length - 1;
    const marked = high || 1;
    // The upper half of a product is better mixed.
    for (let at = (marked * 2) & last; ; at = (at + 2) & last) {
      const found = this.#words[at + 1];
      if (found === 0 || (found === marked && this.#words[at] === low)) return at;
    }
  }
}

const WORD_BITS = 32;

/**
 * A sliding window of the received packet numbers of a session (as in RFC 6479): a number that was received before, or
 * is older than the window, is rejected. Memory is fixed; every call takes constant time.
 */
export class ReplayWindow {
  readonly #size: number;
  readonly #bits: Uint32Array;
  #newest = -1;

  /** @param size the number of packets behind the newest that may still arrive; a multiple of 32. */
  constructor(size: number) {
    this.#size = size;
    // One word more than the window, so that clearing the newest word leaves the oldest intact.
    this.#bits = new Uint32Array(size / WORD_BITS + 1);
  }

  /** Whether `number`, a safe integer from 0 on, is new. Call `mark` once the packet is authenticated. */
  isNew(number: number): boolean {
    if (number > this.#newest) return true;
    if (this.#newest - number >= this.#size) return false;
    return ((this.#bits[this.#wordOf(number)] ?? 0) & bitOf(number)) === 0;
  }

  /** Records the number of an authentic packet. */
  mark(number: number): void {
    const word = Math.floor(number / WORD_BITS);
    if (number > this.#newest) {
      const newestWord = Math.floor(this.#newest / WORD_BITS);
      const cleared = Math.min(word - newestWord, this.#bits.length);
      for (let i = 0; i < cleared; i++) this.#bits[(word - i) % this.#bits.length] = 0;
      this.#newest = number;
    }
    const index = this.#wordOf(number);
    this.#bits[index] = (this.#bits[index] ?? 0) | bitOf(number);
  }

  #wordOf(number: number): number {
    return Math.floor(number / WORD_BITS) % this.#bits.length;
  }
}

const bitOf = (number: number): number => 1 << (number % WORD_BITS);
