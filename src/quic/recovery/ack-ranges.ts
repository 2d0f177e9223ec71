import type { AckRangeSource } from '../wire/frame-writers.ts';

/** Numbers of received packets of one space, in ranges, bounded (RFC 9000 §13.2.3); duplicates (§12.3). */
export declare class AckRanges implements AckRangeSource {
  /** Ranges, the newest first. */
  readonly length: number;
  smallest(index: number): number;
  largest(index: number): number;
  /** The largest number ever received, for the decoding of packet numbers; -1 before the first. */
  readonly largestReceived: number;
  /** Whether a packet was received before, or is too old to know: it is to be dropped. */
  has(number: number): boolean;
  /** A packet was processed; `has` was false. */
  add(number: number): void;
  /** The peer has received an ACK frame that reported up to `largest` (§13.2.4). */
  forget(largest: number): void;
}
