import type { Timers } from './kernel-io.ts';
import type { Resumable } from './poller.ts';

/** In how many milliseconds directions are counted. */
const WINDOW_MS = 20;
/** Directions that splice at the same time, from which on they are held back. */
const CROWD = 8;
/** A piece below this is not worth its system calls while others wait. */
const SMALL_PIECE = 128 << 10;
/** How long a direction is held back, in milliseconds: 1 is what timers can do. */
const HOLD_MS = 1;

/** What the batches remember of a direction. */
export interface Splicer extends Resumable {
  /** The window in which it was last counted. */
  window: number;
}

/**
 * Lets bytes accumulate where many streams splice at once: forwarded as they come, they reach their
 * destinations in pieces of a few KB, each with its system calls here and there (64 streams: half of
 * the rate, and half more processor time, than in pieces of 100 KB). A few streams are never held
 * back, and neither is one that has not carried enough to splice.
 */
export class SpliceBatches {
  readonly #timers: Timers;
  #held: Resumable[] = [];
  #window = 1;
  #windowEnds = -Infinity;
  /** Directions counted in this window, and in the one before. */
  #counted = 0;
  #crowd = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /**
   * Counts a direction that has spliced `bytes`, and decides whether its next piece is to be held
   * back for a moment.
   *
   * @param now monotonic milliseconds
   */
  isHeldBack(direction: Splicer, bytes: number, now: number): boolean {
    if (now >= this.#windowEnds) {
      // After a pause the last window says nothing.
      this.#crowd = now < this.#windowEnds + WINDOW_MS ? this.#counted : 0;
      this.#counted = 0;
      this.#window++;
      this.#windowEnds = now + WINDOW_MS;
    }
    if (direction.window !== this.#window) {
      direction.window = this.#window;
      this.#counted++;
    }
    return bytes < SMALL_PIECE && Math.max(this.#crowd, this.#counted) >= CROWD;
  }

  /** Resumes a direction in a moment, together with others. */
  hold(direction: Resumable): void {
    this.#held.push(direction);
    if (this.#held.length === 1) this.#timers.after(HOLD_MS, this.#resume);
  }

  readonly #resume = (): void => {
    const held = this.#held;
    this.#held = [];
    for (const direction of held) direction.resume();
  };
}
