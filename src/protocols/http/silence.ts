import type { Clock, Timer } from '../../net/clock.ts';

/**
 * Watches for a stretch of time without a byte, once it was started. One timer a stretch, none a
 * chunk, so it fires between one and two stretches after the last byte.
 */
export class Silence {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  readonly #onSilence: () => void;
  #timer: Timer | undefined;
  #touched = false;

  constructor(clock: Clock, milliseconds: number, onSilence: () => void) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
    this.#onSilence = onSilence;
  }

  readonly touch = (): void => {
    this.#touched = true;
  };

  start(): void {
    if (this.#timer) return;
    this.#touched = false;
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#clock.after(this.#milliseconds, () => {
      if (!this.#touched) return this.#onSilence();
      this.#touched = false;
      return this.#arm();
    });
  }
}
