import type { RttEstimator } from '../../congestion/rtt.ts';
import { probeInterval } from './probe-timeout.ts';

/** kPersistentCongestionThreshold, in probe timeouts (RFC 9002 §7.6.1). */
const THRESHOLD = 3;

/**
 * Watches the losses of one packet number space for persistent congestion (RFC 9002 §7.6): that all
 * packets were lost which were sent over some probe timeouts. They are reported in their order.
 */
export class PersistentCongestion {
  /** The present run of losses. */
  #start = Infinity;
  /** The longest run since the last check, in milliseconds. */
  #longest = 0;

  /** An ack-eliciting packet is lost, and nothing between the last one reported and this one has arrived. */
  onLost(sentAt: number, firstSampleAt: number | undefined): void {
    // Before the first measurement the period is not known (§7.6.2).
    if (firstSampleAt === undefined || sentAt <= firstSampleAt) return;
    this.#start = Math.min(this.#start, sentAt);
    this.#longest = Math.max(this.#longest, sentAt - this.#start);
  }

  /** Something has arrived that was sent after the last loss. */
  interrupt(): void {
    this.#start = Infinity;
  }

  /** Losses so far mean nothing: one of them was none, or the path is another one. */
  restart(): void {
    this.#start = Infinity;
    this.#longest = 0;
  }

  /** Whether the losses since the last check establish it. True once for a period. */
  check(rtt: RttEstimator, maxAckDelay: number): boolean {
    const longest = this.#longest;
    this.#longest = 0;
    if (longest <= (probeInterval(rtt) + maxAckDelay) * THRESHOLD) return false;
    this.#start = Infinity;
    return true;
  }
}
