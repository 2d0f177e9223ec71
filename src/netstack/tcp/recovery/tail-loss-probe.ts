import type { RttEstimator } from '../../../congestion/rtt.ts';
import {
  FIRST_PROBE_WAIT,
  LEAST_PROBE_WAIT,
  TIMESTAMP_TICK,
  WORST_ACK_DELAY,
} from './recovery-limits.ts';

/** PTO: the time without an acknowledgement after which a tail loss probe is sent (RFC 8985 §7.2). */
export function probeWait(rtt: RttEstimator, inFlight: number, mss: number): number {
  if (rtt.firstSampleAt === undefined) return FIRST_PROBE_WAIT;
  const wait = Math.max(2 * rtt.smoothed, LEAST_PROBE_WAIT);
  return inFlight <= mss ? wait + WORST_ACK_DELAY : wait;
}

/** The tail loss probe in flight, and whether it repaired a loss (RFC 8985 §7.4). */
export class TailLossProbe {
  #end = -1;
  #sentAt = 0;
  #resent = 0;

  /** Whether a probe is unanswered. There is only one at a time. */
  get isOutstanding(): boolean {
    return this.#end >= 0;
  }

  /** Time at which the last probe was sent. */
  get sentAt(): number {
    return this.#sentAt;
  }

  /** Number of bytes that the unanswered probe has retransmitted; 0 for new data, and without a probe. */
  get resent(): number {
    return this.isOutstanding ? this.#resent : 0;
  }

  /**
   * Called when a probe was sent.
   * @param resent its bytes if they were sent before; 0 for new data.
   */
  onSent(end: number, resent: number, now: number): void {
    this.#end = end;
    this.#sentAt = now;
    this.#resent = resent;
  }

  /** Cancels the probe, which a retransmission timeout or a recovery supersedes. */
  cancel(): void {
    this.#end = -1;
  }

  /**
   * Returns whether an acknowledgement shows that the probe repaired a loss: the peer received the data only
   * once. Congestion control must be notified.
   *
   * @param duplicateEnd the end of the DSACK block; 0 without one.
   */
  onAck(acknowledged: number, duplicateEnd: number, echo: number): boolean {
    if (this.#end < 0 || acknowledged < this.#end) return false;
    if (this.#resent === 0) {
      this.#end = -1;
      return false;
    }
    const isOriginal = echo >= 0 && echo + TIMESTAMP_TICK <= this.#sentAt;
    if (isOriginal || duplicateEnd === this.#end) {
      this.#end = -1;
      return false;
    }
    // With timestamps this is certain. Without them, the DSACK may still follow.
    if (echo < 0 && acknowledged === this.#end) return false;
    this.#end = -1;
    return true;
  }
}
