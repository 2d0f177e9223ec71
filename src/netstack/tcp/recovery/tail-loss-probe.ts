import type { RttEstimator } from '../../../congestion/rtt.ts';
import {
  FIRST_PROBE_WAIT,
  LEAST_PROBE_WAIT,
  TIMESTAMP_TICK,
  WORST_ACK_DELAY,
} from './recovery-limits.ts';

/** The wait for acknowledgements after which the tail of a flight is probed (RFC 8985 §7.2). */
export function probeWait(rtt: RttEstimator, inFlight: number, mss: number): number {
  if (rtt.firstSampleAt === undefined) return FIRST_PROBE_WAIT;
  const wait = Math.max(2 * rtt.smoothed, LEAST_PROBE_WAIT);
  return inFlight <= mss ? wait + WORST_ACK_DELAY : wait;
}

/** A tail loss probe on its way: whether it hid a loss from congestion control (RFC 8985 §7.4). */
export class TailLossProbe {
  #end = -1;
  #sentAt = 0;
  #isRetransmission = false;

  /** Whether one is unanswered: there is only one at a time. */
  get isOutstanding(): boolean {
    return this.#end >= 0;
  }

  /** When the last one was sent. */
  get sentAt(): number {
    return this.#sentAt;
  }

  onSent(end: number, isRetransmission: boolean, now: number): void {
    this.#end = end;
    this.#sentAt = now;
    this.#isRetransmission = isRetransmission;
  }

  /** A timeout takes its place. */
  cancel(): void {
    this.#end = -1;
  }

  /**
   * Takes an acknowledgement. Returns whether it shows that the probe repaired a loss: its original was
   * never reported as a duplicate.
   *
   * @param duplicateEnd the end of what arrived twice; 0 when nothing is reported.
   */
  onAck(acknowledged: number, duplicateEnd: number, echo: number): boolean {
    if (this.#end < 0 || acknowledged < this.#end) return false;
    if (!this.#isRetransmission) {
      this.#end = -1;
      return false;
    }
    const isOriginal = echo >= 0 && echo + TIMESTAMP_TICK <= this.#sentAt;
    if (isOriginal || duplicateEnd === this.#end) {
      this.#end = -1;
      return false;
    }
    // With timestamps the answer is certain; else a report of the duplicate may still come.
    if (echo < 0 && acknowledged === this.#end) return false;
    this.#end = -1;
    return true;
  }
}
