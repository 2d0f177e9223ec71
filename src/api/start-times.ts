import type { Clock } from '../net/clock.ts';

/**
 * When things started, in Unix milliseconds, worked out at the moment of asking: now, less what has
 * passed since on the monotonic clock. A step of the wall clock therefore moves what is reported.
 *
 * The wall clock counts whole milliseconds, the monotonic one fractions. The offset between them is
 * known only to within one millisecond at first; the greatest value seen comes closest to it, and
 * keeping that one makes the same start be reported twice alike.
 */
export class StartTimes {
  readonly #clock: Clock;
  #offset = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
    for (let reading = 0; reading < MOST_READINGS; reading++) {
      const before = this.#offset;
      // Where the wall clock has just moved on, the reading is as good as it gets.
      if (this.read() - before > 0.5 && reading > 0) break;
    }
  }

  /** What has to be added to a monotonic time to make it a wall time. */
  read(): number {
    const seen = this.#clock.wall() - this.#clock.now();
    if (seen > this.#offset || seen <= this.#offset - 1) this.#offset = seen;
    return this.#offset;
  }
}

/** About as many as fit into the one millisecond that the wall clock stands still. */
const MOST_READINGS = 10_000;
