import type { Clock } from '@weir/io/time';

/** Approximate number of readings in one millisecond, the resolution of the wall clock. */
const FIRST_READINGS = 10_000;
const READINGS = 8;

/**
 * Drift between the clocks, in milliseconds, from which the offset is corrected. Less is within the error of a reading,
 * because the wall clock counts whole milliseconds.
 */
const SLACK_MS = 2;

/**
 * Start times in Unix milliseconds, computed when read: the wall time minus the monotonic time since the start. A step
 * of the wall clock therefore changes them.
 *
 * The offset between the clocks is kept while it is accurate, so that a start time does not vary between responses.
 */
export class StartTimes {
  readonly #clock: Clock;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = this.#measure(FIRST_READINGS);
  }

  /** The offset that turns a monotonic time into wall time. */
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
   * The greatest offset of several readings: the wall clock lags by up to a millisecond, and an interruption between
   * the two readings also makes the difference too small.
   */
  #measure(readings: number): number {
    let greatest = -Infinity;
    for (let reading = 0; reading < readings; reading++) {
      greatest = Math.max(greatest, this.#clock.wall() - this.#clock.now());
    }
    return greatest;
  }
}
