import type { RttEstimator } from '../../../congestion/rtt.ts';
import { DUPLICATE_THRESHOLD, TIMESTAMP_TICK } from './recovery-limits.ts';

/** Recoveries after which reordering that was allowed for is taken to be over (RFC 8985 §6.2). */
const PERSISTENCE = 16;
/** The reordering window, in quarters of the least round trip: no more than the smoothed one anyway. */
const MOST_MULTIPLE = 64;

/**
 * What RACK knows of the path (RFC 8985 §6): the newest transmission that has arrived, and how long
 * after it an earlier one may still arrive. A segment is lost when it was sent before the newest one,
 * and longer ago than a round trip and the reordering window.
 */
export class Rack {
  #transmission = -1;
  #end = 0;
  #roundTrip = 0;
  /** The highest offset that was acknowledged in any way, RACK.fack. */
  #highest = 0;
  /** What it was before the present acknowledgement, whose blocks come in any order. */
  #priorHighest = 0;
  #reorders = false;
  #multiple = 1;
  #persistence = PERSISTENCE;
  /** Duplicates count again when what was sent by now is acknowledged. */
  #roundEnd = -1;

  /** Whether an original segment has arrived behind one that was sent later. */
  get reorders(): boolean {
    return this.#reorders;
  }

  /** RACK.rtt: the round trip of the newest transmission that has arrived; 0 before there is one. */
  get roundTrip(): number {
    return this.#roundTrip;
  }

  /** An acknowledgement begins. */
  beginAck(): void {
    this.#priorHighest = this.#highest;
  }

  /**
   * A segment is newly acknowledged, cumulatively or not (steps 2 and 3).
   * @param echo see `ReceivedAck`.
   */
  onDelivered(
    sentAt: number,
    transmission: number,
    end: number,
    isRetransmitted: boolean,
    echo: number,
    minRtt: number,
    now: number,
  ): void {
    if (end > this.#highest) this.#highest = end;
    else if (end < this.#priorHighest && !isRetransmitted) this.#reorders = true;
    const roundTrip = now - sentAt;
    // It may be the original that has arrived.
    if (isRetransmitted) {
      if (echo >= 0 && echo + TIMESTAMP_TICK <= sentAt) return;
      if (roundTrip < minRtt) return;
    }
    if (!this.#isNewer(transmission, end)) return;
    this.#transmission = transmission;
    this.#end = end;
    this.#roundTrip = roundTrip;
  }

  /** Whether a segment was sent before the newest transmission that has arrived. */
  isOvertaken(transmission: number, end: number): boolean {
    if (transmission !== this.#transmission) return transmission < this.#transmission;
    return end < this.#end;
  }

  /**
   * Milliseconds after its transmission when an overtaken segment is lost (steps 4 and 5).
   * @param sackedBytes bytes that SACK reports beyond the cumulative acknowledgement.
   */
  patience(recovers: boolean, sackedBytes: number, mss: number, rtt: RttEstimator): number {
    if (!this.#reorders && (recovers || sackedBytes >= DUPLICATE_THRESHOLD * mss)) {
      return this.#roundTrip;
    }
    const window = Math.min((this.#multiple * rtt.minimum) / 4, rtt.smoothed);
    return this.#roundTrip + window;
  }

  /** A segment was sent again in vain: the window was too small. Once in a round trip. */
  onSpurious(sndUna: number, sndNxt: number): void {
    if (sndUna < this.#roundEnd) return;
    this.#roundEnd = sndNxt;
    this.#reorders = true;
    this.#multiple = Math.min(this.#multiple + 1, MOST_MULTIPLE);
    this.#persistence = PERSISTENCE;
  }

  /** A recovery is over. */
  onRecovered(): void {
    if (this.#multiple > 1 && --this.#persistence <= 0) this.#multiple = 1;
  }

  #isNewer(transmission: number, end: number): boolean {
    if (transmission !== this.#transmission) return transmission > this.#transmission;
    return end > this.#end;
  }
}
