import type { Clock, Timer } from './clock.ts';

/**
 * Calls back once after a stretch of time without activity. `touch` only takes the time: one timer
 * runs for each stretch, none for each chunk or datagram.
 */
export class IdleTimer {
  readonly #clock: Clock;
  readonly #limit: () => number;
  readonly #onIdle: () => void;
  #timer: Timer | undefined;
  #lastActive: number;

  /**
   * @param limit milliseconds without activity, or a function that gives them whenever the timer
   *   looks; a limit that becomes longer is obeyed, one that becomes shorter from the next look on.
   */
  constructor(clock: Clock, limit: number | (() => number), onIdle: () => void) {
    this.#clock = clock;
    this.#limit = typeof limit === 'number' ? () => limit : limit;
    this.#onIdle = onIdle;
    this.#lastActive = clock.now();
  }

  /** When the last activity was, or `start`, on the clock. */
  get lastActive(): number {
    return this.#lastActive;
  }

  /** Notes activity; also before `start`. Bound, so that it can be handed on as a callback. */
  readonly touch = (): void => {
    this.#lastActive = this.#clock.now();
  };

  /** Begins to watch, with this moment as the last activity. No effect while it watches. */
  start(): void {
    if (this.#timer) return;
    this.touch();
    this.#arm(this.#limit());
  }

  /** Stops watching; `start` begins anew. Idempotent. */
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
