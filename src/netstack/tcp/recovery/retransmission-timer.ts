import type { RttEstimator } from '../../../congestion/rtt.ts';
import {
  INITIAL_TIMEOUT,
  LEAST_TIMEOUT_MARGIN,
  MAX_TIMEOUT,
  TIMEOUT_AFTER_LOST_SYN,
} from './recovery-limits.ts';

/** Doublings after which the timeout stops growing. */
const MOST_DOUBLINGS = 16;

/** The retransmission timer (RFC 6298): its timeout, its start, and the number of expirations in a row. */
export class RetransmissionTimer {
  #count = 0;
  #since = 0;
  #first = INITIAL_TIMEOUT;

  /** Number of timeouts in a row that the peer has not answered. */
  get count(): number {
    return this.#count;
  }

  /** Returns the RTO without backoff, in milliseconds. */
  interval(rtt: RttEstimator): number {
    if (rtt.firstSampleAt === undefined) return this.#first;
    const margin = Math.max(4 * rtt.variation, LEAST_TIMEOUT_MARGIN);
    return Math.min(rtt.smoothed + margin, MAX_TIMEOUT);
  }

  /** Returns the time at which the timer expires, in milliseconds. */
  deadline(rtt: RttEstimator): number {
    const backoff = 2 ** Math.min(this.#count, MOST_DOUBLINGS);
    return this.#since + Math.min(this.interval(rtt) * backoff, MAX_TIMEOUT);
  }

  /** Starts or restarts the timer (§5.1, §5.3). */
  restart(now: number): void {
    this.#since = now;
  }

  /** Called when the timer has expired: backs off and restarts (§5.5, §5.6). */
  onTimeout(now: number): void {
    this.#count++;
    this.#since = now;
  }

  /** Called when the peer has acknowledged new data, or the path is restored: ends the backoff. */
  onAnswer(now: number): void {
    this.#count = 0;
    this.#since = now;
  }

  /** Called when the SYN or the SYN-ACK was lost (§5.7). */
  onLostSyn(): void {
    this.#first = TIMEOUT_AFTER_LOST_SYN;
  }
}
