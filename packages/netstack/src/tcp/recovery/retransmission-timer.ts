import type { RttEstimator } from '@weir/congestion';
import {
  INITIAL_TIMEOUT,
  LEAST_TIMEOUT_MARGIN,
  MAX_TIMEOUT,
  TIMEOUT_AFTER_LOST_SYN,
  FIRST_PROBE_WAIT,
  LEAST_PROBE_WAIT,
  TIMESTAMP_TICK,
  WORST_ACK_DELAY,
} from '../../limits.ts';

/** Doublings after which the timeout stops growing. */
const MOST_DOUBLINGS = 16;

/** The retransmission timer (RFC 6298): its timeout, its start, and the number of expirations in a row. */
export class RetransmissionTimer {
  /** Number of timeouts in a row without a response of the peer. */
  count = 0;
  #since = 0;
  #first = INITIAL_TIMEOUT;

  /** Returns the RTO without backoff, in milliseconds. */
  interval(rtt: RttEstimator): number {
    if (rtt.firstSampleAt === undefined) return this.#first;
    const margin = Math.max(4 * rtt.variation, LEAST_TIMEOUT_MARGIN);
    return Math.min(rtt.smoothed + margin, MAX_TIMEOUT);
  }

  /** Returns the time at which the timer expires, in milliseconds. */
  deadline(rtt: RttEstimator): number {
    const backoff = 2 ** Math.min(this.count, MOST_DOUBLINGS);
    return this.#since + Math.min(this.interval(rtt) * backoff, MAX_TIMEOUT);
  }

  /** Starts or restarts the timer (§5.1, §5.3). */
  restart(now: number): void {
    this.#since = now;
  }

  /** Called when the timer has expired: backs off and restarts (§5.5, §5.6). */
  onTimeout(now: number): void {
    this.count++;
    this.#since = now;
  }

  /** Called when the peer has acknowledged new data, or the path is restored: ends the backoff. */
  onAnswer(now: number): void {
    this.count = 0;
    this.#since = now;
  }

  /** Called when the SYN or the SYN-ACK was lost (§5.7). */
  onLostSyn(): void {
    this.#first = TIMEOUT_AFTER_LOST_SYN;
  }
}

/** PTO: the time without an acknowledgement after which a tail loss probe is sent (RFC 8985 §7.2). */
export function probeWait(rtt: RttEstimator, inFlight: number, mss: number): number {
  if (rtt.firstSampleAt === undefined) return FIRST_PROBE_WAIT;
  const wait = Math.max(2 * rtt.smoothed, LEAST_PROBE_WAIT);
  return inFlight <= mss ? wait + WORST_ACK_DELAY : wait;
}

/** The tail loss probe in flight, and whether it repaired a loss (RFC 8985 §7.4). */
export class TailLossProbe {
  #end = -1;
  /** Time at which the last probe was sent. */
  sentAt = 0;
  #resent = 0;

  /** Whether a probe is unanswered. There is only one at a time. */
  get isOutstanding(): boolean {
    return this.#end >= 0;
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
    this.sentAt = now;
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
    const isOriginal = echo >= 0 && echo + TIMESTAMP_TICK <= this.sentAt;
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
