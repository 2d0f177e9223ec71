import type { Clock, Timer } from './clock.ts';

/**
 * Calls back once after a period without activity. `touch` only reads the clock: one timer runs for
 * each period, not for each chunk or datagram.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #limit: () => number;
  readonly #onIdle: () => void;
  #timer: Timer | undefined;
  #lastActive: number;

  /**
   * @param limit milliseconds without activity, or a function that returns them whenever the timer
   *   fires; a shorter limit than before takes effect with the next timer.
   */
  constructor(clock: Clock, limit: number | (() => number), onIdle: () => void) {
    this.#clock = clock;
    this.#limit = typeof limit === 'number' ? () => limit : limit;
    this.#onIdle = onIdle;
    this.#lastActive = clock.now();
  }

  /** The time of the last activity or of `start`, on the clock. */
  get lastActive(): number {
    return this.#lastActive;
  }

  /** Records activity, also before `start`. Bound, so that it can be passed as a callback. */
  readonly touch = (): void => {
    this.#lastActive = this.#clock.now();
  };

  /** Starts, with this moment as the last activity. No effect while it runs. */
  start(): void {
    if (this.#timer) return;
    this.touch();
    this.#arm(this.#limit());
  }

  /** Stops; `start` starts it again. Idempotent. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(milliseconds: number): void {
    this.#timer = this.#clock.after(milliseconds, () => {
      const left = this.#lastActive + this.#limit() - this.#clock.now();
      if (left > 0) {
        this.#arm(left);
        return;
      }
      this.#timer = undefined;
      this.#onIdle();
    });
  }
}
