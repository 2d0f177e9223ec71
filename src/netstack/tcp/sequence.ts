/*
 * Sequence numbers are modulo 2^32 (RFC 9293 §3.4). A connection computes with offsets in the stream instead:
 * plain numbers that do not wrap. The SYN has offset -1, the first byte of data 0.
 */

/** Returns the distance `to` - `from` modulo 2^32, as a number from -2^31 to 2^31 - 1. */
export const distance = (from: number, to: number): number => (to - from) | 0;

/** Returns the sequence number `bytes` after another. */
export const advance = (sequence: number, bytes: number): number => (sequence + bytes) >>> 0;

/** The sequence numbers of one direction, as offsets. */
export class SequenceSpace {
  /** The sequence number of the SYN: ISS or IRS. */
  readonly initial: number;
  readonly #first: number;

  constructor(initial: number) {
    this.initial = initial >>> 0;
    this.#first = advance(initial, 1);
  }

  /**
   * Returns the sequence number of an offset.
   * @param offset up to 2^52, however often the sequence numbers have wrapped.
   */
  sequence(offset: number): number {
    return (this.#first + offset) >>> 0;
  }

  /** Returns the offset with this sequence number that is nearest to `near`; below -1 if it precedes the SYN. */
  offset(sequence: number, near: number): number {
    return near + distance(this.sequence(near), sequence);
  }
}
