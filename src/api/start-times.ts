import type { Clock } from '../net/clock.ts';

/** About as many readings as fit into the one millisecond that the wall clock stands still. */
const FIRST_READINGS = 10_000;
const READINGS = 8;

/**
 * How far the clocks may drift against each other, in milliseconds, before it is taken up. Anything
 * less is what they are read with: the wall clock counts whole milliseconds.
 */
const SLACK_MS = 2;

/**
 * When things started, in Unix milliseconds, worked out at the moment of asking: now, less what has
 * passed since on the monotonic clock. A step of the wall clock therefore moves what is reported.
 *
 * What lies between the two clocks is kept as long as it holds, so that the same start is reported
 * alike every time.
 */
export class StartTimes {
  readonly #clock: Clock;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = this.#measure(FIRST_READINGS);
  }

  /** What has to be added to a monotonic time to make it a wall time. */
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
   * is interrupted between the clocks reads too little, too.
   */
  #measure(readings: number): number {
    let greatest = -Infinity;
    for (let reading = 0; reading < readings; reading++) {
      greatest = Math.max(greatest, this.#clock.wall() - this.#clock.now());
    }
    return greatest;
  }
}
