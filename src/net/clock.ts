/** A timer that was started and can be called off. */
export interface Timer {
  cancel(): void;
}

/**
 * Time, as the code below `app` sees it. Tests put a virtual one in its place.
 *
 * `now` is monotonic milliseconds with an arbitrary start; `wall` is Unix milliseconds.
 */
export interface Clock {
  now(): number;
  wall(): number;
  /** Calls `callback` once, `milliseconds` from now. Timers do not keep the process alive. */
  after(milliseconds: number, callback: () => void): Timer;
}

/** What Node's timers can wait; a longer wait would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(milliseconds, callback) {
    // What is due already is some fraction of a millisecond late: Node warns of a negative time.
    const timer = setTimeout(callback, Math.max(0, Math.min(milliseconds, LONGEST_MS)));
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
