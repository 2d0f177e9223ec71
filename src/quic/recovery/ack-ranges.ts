import { ReplayWindow } from '../../crypto/replay/replay-window.ts';
import type { AckRangeSource } from '../wire/frame-writers.ts';
import { DUPLICATE_WINDOW, FIRST_ACK_RANGES, MAX_ACK_RANGES } from './limits.ts';

/**
 * The numbers of received packets of one space: the ranges for ACK frames, bounded in number and forgotten
 * once the peer has acknowledged them (RFC 9000 §13.2.3, §13.2.4), and, apart from them, a window in which
 * duplicates are detected (§12.3).
 */
export class AckRanges implements AckRangeSource {
  /** Smallest number of each range, the oldest range first: most packets extend the last one. */
  #smallest = new Float64Array(FIRST_ACK_RANGES);
  #largest = new Float64Array(FIRST_ACK_RANGES);
  readonly #seen = new ReplayWindow(DUPLICATE_WINDOW);
  #length = 0;
  #largestReceived = -1;

  /** The number of ranges. */
  get length(): number {
    return this.#length;
  }

  /** The largest number ever received, for the decoding of packet numbers; -1 before the first. */
  get largestReceived(): number {
    return this.#largestReceived;
  }

  /** Returns the smallest number of a range. Index 0 is the newest range. */
  smallest(index: number): number {
    return this.#smallest[this.#length - 1 - index] as number; // below `length`
  }

  /** Returns the largest number of a range. Index 0 is the newest range. */
  largest(index: number): number {
    return this.#largest[this.#length - 1 - index] as number; // below `length`
  }

  /** Whether a packet was received before, or is too old to decide: it MUST be discarded (§12.3). */
  has(number: number): boolean {
    return !this.#seen.isNew(number);
  }

  /** Adds a packet that was processed, for which `has` was false. */
  add(number: number): void {
    this.#seen.mark(number);
    this.#largestReceived = Math.max(this.#largestReceived, number);
    let at = this.#length - 1;
    while (at >= 0 && (this.#smallest[at] as number) > number) at--; // within the ranges, here and below
    // The range at `at`, if there is one, starts at or before the number, and the next one after it.
    const touchesOlder = at >= 0 && (this.#largest[at] as number) >= number - 1;
    const touchesNewer = at + 1 < this.#length && (this.#smallest[at + 1] as number) === number + 1;
    if (touchesOlder && touchesNewer) {
      this.#largest[at] = this.#largest[at + 1] as number;
      this.#remove(at + 1);
    } else if (touchesOlder) {
      this.#largest[at] = Math.max(this.#largest[at] as number, number);
    } else if (touchesNewer) {
      this.#smallest[at + 1] = number;
    } else {
      this.#insert(at + 1, number);
    }
  }

  /** Called when the peer has acknowledged an ACK frame that reported packets up to `largest` (§13.2.4). */
  forget(largest: number): void {
    let known = 0;
    while (known < this.#length && (this.#largest[known] as number) <= largest) known++;
    // An ACK frame needs at least one range: the newest stays until there is a newer one.
    known = Math.min(known, this.#length - 1);
    if (known > 0) {
      this.#smallest.copyWithin(0, known, this.#length);
      this.#largest.copyWithin(0, known, this.#length);
      this.#length -= known;
    }
    if (this.#length === 0 || (this.#smallest[0] as number) > largest) return;
    this.#smallest[0] = Math.min(largest + 1, this.#largest[0] as number);
  }

  #insert(index: number, number: number): void {
    let at = index;
    if (this.#length === MAX_ACK_RANGES) {
      if (at === 0) return;
      this.#remove(0);
      at--;
    } else if (this.#length === this.#smallest.length) {
      this.#smallest = grown(this.#smallest);
      this.#largest = grown(this.#largest);
    }
    this.#smallest.copyWithin(at + 1, at, this.#length);
    this.#largest.copyWithin(at + 1, at, this.#length);
    this.#smallest[at] = number;
    this.#largest[at] = number;
    this.#length++;
  }

  #remove(index: number): void {
    this.#smallest.copyWithin(index, index + 1, this.#length);
    this.#largest.copyWithin(index, index + 1, this.#length);
    this.#length--;
  }
}

function grown(bounds: Float64Array): Float64Array<ArrayBuffer> {
  const twice = new Float64Array(bounds.length * 2);
  twice.set(bounds);
  return twice;
}
