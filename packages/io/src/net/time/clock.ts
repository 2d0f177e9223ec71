/** A pending timer. */
export interface Timer {
  cancel(): void;
}

/**
 * The source of time of all code below `app`; tests replace it with a virtual clock.
 *
 * `now` is monotonic milliseconds with an arbitrary start; `wall` is milliseconds of Unix time.
 */
export interface Clock {
  now(): number;
  wall(): number;
  /** Calls `callback` once, `milliseconds` from now. Timers do not keep the process alive. */
  after(milliseconds: number, callback: () => void): Timer;
}

/** The longest delay of Node's timers; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * The clock of this system: `performance.now()`, `Date.now()`, and timers of Node that do not keep the process alive.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(milliseconds, callback) {
    // Node warns about a negative delay, which a timer that is already due would have.
    const timer = setTimeout(callback, Math.max(0, Math.min(milliseconds, LONGEST_MS)));
    timer.unref();
    return new SystemTimer(timer);
  },
};

/** Each flow has several: an object takes less memory than a closure and its context. */
class SystemTimer implements Timer {
  readonly #timer: NodeJS.Timeout;

  constructor(timer: NodeJS.Timeout) {
    this.#timer = timer;
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
