import type { Clock, Timer } from '../time/clock.ts';
import { RESET_DELAY_MS } from '../time/time-limits.ts';

/** The shortest and the longest interval between two checks, in milliseconds. */
const SHORTEST_WAIT_MS = 1;
const LONGEST_WAIT_MS = 50;

/**
 * Resets a connection once its peer has received everything written to it, since a reset discards data that is queued
 * or in flight; or once the peer has made no progress for RESET_DELAY_MS.
 *
 * Neither kernels nor protocol cores report that moment, so it is polled for, at growing intervals.
 */
export class DelayedReset {
  readonly #clock: Clock;
  readonly #untakenNow: () => number;
  readonly #reset: () => void;
  #timer: Timer | undefined;
  #untaken = Infinity;
  #takenAt = 0;
  #wait = SHORTEST_WAIT_MS;

  /**
   * @param untaken returns the number of written bytes that the peer has not acknowledged.
   * @param reset is called once, possibly within this call.
   */
  constructor(clock: Clock, untaken: () => number, reset: () => void) {
    this.#clock = clock;
    this.#untakenNow = untaken;
    this.#reset = reset;
    this.#look();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #look(): void {
    const untaken = this.#untakenNow();
    const now = this.#clock.now();
    if (untaken < this.#untaken) {
      this.#untaken = untaken;
      this.#takenAt = now;
    }
    const left = this.#takenAt + RESET_DELAY_MS - now;
    if (untaken === 0 || left <= 0) {
      this.#reset();
      return;
    }
    this.#timer = this.#clock.after(Math.min(this.#wait, left), () => this.#look());
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }
}
