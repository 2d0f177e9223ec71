import type { Clock } from '../net/time/clock.ts';

/** About as many readings as fit into the one millisecond that the wall clock stands still. */
const FIRST_READINGS = 10_000;
const READINGS = 8;

/**
 * How far the clocks may drift against each other, in milliseconds, before the offset is corrected.
 * Less is within the error of a reading: the wall clock counts whole milliseconds.
 */
const SLACK_MS = 2;

/**
 * Start times in Unix milliseconds, derived when they are read: now, less the time since on the
 * monotonic clock. A step of the wall clock therefore moves them.
 *
 * The offset between the two clocks is kept while it holds, so that the same start is always reported
 * alike.
 */
export class StartTimes {
  readonly #clock: Clock;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = this.#measure(FIRST_READINGS);
  }

  /** The offset to add to a monotonic time for a wall time. */
  read(): number {
    if (!this.#holds(this.#measure(1))) {
      const measured = this.#measure(READINGS);
      if (!this.#holds(measured)) this.#offset = measured;
    }
    return this.#offset;
  }

  #holds(measured: number): boolean {
    return Math.abs(measured - this.#offset) <= SLACK_MS;
  }

  /**
   * The greatest of some readings: the wall clock is behind by up to a millisecond, and a thread that
   * is interrupted between the clocks reads too little as well.
   */
  #measure(readings: number): number {
    let greatest = -Infinity;
    for (let reading = 0; reading < readings; reading++) {
      greatest = Math.max(greatest, this.#clock.wall() - this.#clock.now());
    }
    return greatest;
  }
}
