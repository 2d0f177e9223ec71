import { TIMESTAMP_LIFETIME } from '../limits.ts';

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

/** TSval: the clock in milliseconds plus the connection's random offset (RFC 7323 §5.4). */
export const timestampAt = (now: number, offset: number): number =>
  (Math.floor(now) + offset) >>> 0;

/** The timestamps of one connection (RFC 7323 §3 to §5). */
export class Timestamps {
  readonly offset: number;
  /** Snd.TS.OK: whether both SYNs had the option. */
  enabled = false;
  /** TS.Recent, the value that is echoed. */
  recent = 0;
  recentAt = -Infinity;

  constructor(offset: number) {
    this.offset = offset >>> 0;
  }

  /** Returns the TSval of a segment sent now. */
  at(now: number): number {
    return timestampAt(now, this.offset);
  }

  /** Returns the time at which the segment with this TSval was sent; -1 for a value that was never sent. */
  sentAt(echo: number, now: number): number {
    const age = distance(echo, this.at(now));
    return age < 0 ? -1 : Math.floor(now) - age;
  }

  /** PAWS (§5.3 R1): whether a segment is an old duplicate. */
  isOld(timestamp: number, now: number): boolean {
    return distance(this.recent, timestamp) < 0 && now - this.recentAt < TIMESTAMP_LIFETIME;
  }

  /** Sets TS.Recent from a segment with SEG.SEQ <= Last.ACK.sent (§4.3). */
  update(timestamp: number, now: number): void {
    if (this.isOld(timestamp, now)) return;
    this.recent = timestamp;
    this.recentAt = now;
  }
}
