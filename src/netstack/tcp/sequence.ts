/*
 * Sequence numbers are taken modulo 2^32 (RFC 9293 §3.4). Inside a connection they are offsets in the
 * stream instead: plain numbers that do not wrap, 0 for the first byte behind the SYN, which itself is -1.
 */

/** How far `to` is after `from`, from -2^31 to 2^31 - 1. */
export const distance = (from: number, to: number): number => (to - from) | 0;

/** A sequence number some bytes on. */
export const advance = (sequence: number, bytes: number): number => (sequence + bytes) >>> 0;

/** One direction of a connection: its sequence numbers as offsets. */
export class SequenceSpace {
  /** That of the SYN. */
  readonly initial: number;
  readonly #first: number;

  constructor(initial: number) {
    this.initial = initial >>> 0;
    this.#first = advance(initial, 1);
  }

  /** @param offset up to 2^52, however many times the sequence numbers have wrapped by then. */
  sequence(offset: number): number {
    return (this.#first + offset) >>> 0;
  }

  /** The offset of this sequence number that is nearest to `near`; below -1 for what was never there. */
  offset(sequence: number, near: number): number {
    return near + distance(this.sequence(near), sequence);
  }
}
