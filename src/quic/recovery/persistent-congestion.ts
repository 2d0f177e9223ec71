import type { RttEstimator } from '../../congestion/rtt.ts';
import { probeInterval } from './probe-timeout.ts';

/** kPersistentCongestionThreshold, in probe timeouts (RFC 9002 §7.6.1). */
const THRESHOLD = 3;

/**
 * Detects persistent congestion in one packet number space (RFC 9002 §7.6): the loss of all ack-eliciting
 * packets that were sent over three probe timeouts. Losses are reported in the order of sending.
 */
export class PersistentCongestion {
  /** Time at which the first packet of the current run of losses was sent. */
  #start = Infinity;
  /** The longest run since the last check, in milliseconds. */
  #longest = 0;

  /** Called when an ack-eliciting packet was lost, and none between it and the last one reported was acknowledged. */
  onLost(sentAt: number, firstSampleAt: number | undefined): void {
    // The period SHOULD NOT start before the first RTT sample (§7.6.2).
    if (firstSampleAt === undefined || sentAt <= firstSampleAt) return;
    this.#start = Math.min(this.#start, sentAt);
    this.#longest = Math.max(this.#longest, sentAt - this.#start);
  }

  /** Called when a packet sent after the last loss was acknowledged. */
  interrupt(): void {
    this.#start = Infinity;
  }

  /** Discards the losses so far: one of them was spurious, or the path has changed. */
  restart(): void {
    this.#start = Infinity;
    this.#longest = 0;
  }

  /** Whether the losses since the last check establish persistent congestion. True once for a period. */
  check(rtt: RttEstimator, maxAckDelay: number): boolean {
    const longest = this.#longest;
    this.#longest = 0;
    if (longest <= (probeInterval(rtt) + maxAckDelay) * THRESHOLD) return false;
    this.#start = Infinity;
    return true;
  }
}
