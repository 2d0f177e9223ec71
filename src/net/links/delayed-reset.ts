import type { Clock, Timer } from '../time/clock.ts';
import { RESET_DELAY_MS } from '../time/time-limits.ts';

/** The first and the longest time between two looks, in milliseconds. */
const SHORTEST_WAIT_MS = 1;
const LONGEST_WAIT_MS = 50;

/**
 * Resets a connection once its peer has taken what was written to it, since a reset discards what is queued
 * or in flight; or once the peer has taken nothing for RESET_DELAY_MS.
 *
 * Neither kernels nor protocol cores report that moment, so it is looked for, ever more rarely.
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
   * @param untaken returns the bytes that were written and that the peer has not taken.
   * @param reset is called once, perhaps within this call.
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
