import type { RttEstimator } from '../../../congestion/rtt.ts';
import {
  INITIAL_TIMEOUT,
  LEAST_TIMEOUT_MARGIN,
  MAX_TIMEOUT,
  TIMEOUT_AFTER_LOST_SYN,
} from './recovery-limits.ts';

/** Doublings after which the timeout grows no more. */
const MOST_DOUBLINGS = 16;

/** The retransmission timeout (RFC 6298): how long, since when, and how often in a row. */
export class RetransmissionTimer {
  #count = 0;
  #since = 0;
  #first = INITIAL_TIMEOUT;

  /** Timeouts in a row without an answer. */
  get count(): number {
    return this.#count;
  }

  /** The timeout without backoff, in milliseconds. */
  interval(rtt: RttEstimator): number {
    if (rtt.firstSampleAt === undefined) return this.#first;
    const margin = Math.max(4 * rtt.variation, LEAST_TIMEOUT_MARGIN);
    return Math.min(rtt.smoothed + margin, MAX_TIMEOUT);
  }

  deadline(rtt: RttEstimator): number {
    const backoff = 2 ** Math.min(this.#count, MOST_DOUBLINGS);
    return this.#since + Math.min(this.interval(rtt) * backoff, MAX_TIMEOUT);
  }

  /** Waits from now on (§5.1, §5.3). */
  restart(now: number): void {
    this.#since = now;
  }

  /** The time is over (§5.5). */
  onTimeout(now: number): void {
    this.#count++;
    this.#since = now;
  }

  /** The peer has acknowledged something new, or the path to it is restored. */
  onAnswer(now: number): void {
    this.#count = 0;
    this.#since = now;
  }

  /** The SYN, or its answer, was lost (§5.7). */
  onLostSyn(): void {
    this.#first = TIMEOUT_AFTER_LOST_SYN;
  }
}
