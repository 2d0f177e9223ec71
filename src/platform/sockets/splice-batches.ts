import type { Timers } from './kernel-io.ts';
import type { Resumable } from './poller.ts';

/** In how many milliseconds the bytes of a direction are counted. */
const WINDOW_MS = 20;
/** Bytes of a window that make a direction one of bulk: 3 MB a second. */
const BULK = 64 << 10;
/** Directions of bulk at the same time, from which on they are held back. */
const CROWD = 8;
/** A piece below this is not worth its system calls while many others move. */
const SMALL_PIECE = 128 << 10;
/** How long a direction is held back, in milliseconds. */
const HOLD_MS = 10;

/** What the batches remember of a direction. */
export interface Direction extends Resumable {
  /** The window in which it was last counted, its bytes there, and whether they were many. */
  window: number;
  windowBytes: number;
  isBulk: boolean;
}

/**
 * Tells bulk from small messages, and lets bytes accumulate where many streams of bulk move at once:
 * forwarded as they come, these reach their destinations in pieces of a few KB, each with its system
 * calls here and there (64 streams: a third of the rate at three times the processor time). A few
 * streams are never held back, and neither are messages.
 */
export class SpliceBatches {
  readonly #timers: Timers;
  #held: Resumable[] = [];
  #window = 1;
  #windowEnds = -Infinity;
  /** Directions of bulk in this window, and in the one before. */
  #counted = 0;
  #crowd = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Counts bytes that a direction has moved. @param now monotonic milliseconds */
  count(direction: Direction, bytes: number, now: number): void {
    if (now >= this.#windowEnds) this.#nextWindow(now);
    if (direction.window !== this.#window) {
      const isNext = direction.window === this.#window - 1;
      direction.isBulk = isNext && direction.windowBytes >= BULK;
      direction.window = this.#window;
      direction.windowBytes = 0;
      if (direction.isBulk) this.#counted++;
    }
    direction.windowBytes += bytes;
    if (!direction.isBulk && direction.windowBytes >= BULK) {
      direction.isBulk = true;
      this.#counted++;
    }
  }

  /** Whether the piece after one of so many bytes is to be held back for a moment. */
  holdsBack({ isBulk }: Direction, bytes: number): boolean {
    return isBulk && bytes < SMALL_PIECE && Math.max(this.#crowd, this.#counted) >= CROWD;
  }

  /** Resumes a direction in a moment, together with others. */
  hold(direction: Resumable): void {
    this.#held.push(direction);
    if (this.#held.length === 1) this.#timers.after(HOLD_MS, this.#resume);
  }

  #nextWindow(now: number): void {
    // After a pause the last window says nothing.
    const isNext = now < this.#windowEnds + WINDOW_MS;
    this.#crowd = isNext ? this.#counted : 0;
    this.#counted = 0;
    this.#window += isNext ? 1 : 2;
    this.#windowEnds = now + WINDOW_MS;
  }

  readonly #resume = (): void => {
    const held = this.#held;
    this.#held = [];
    for (const direction of held) direction.resume();
  };
}
