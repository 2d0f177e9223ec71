import type { Clock, Timer } from '@weir/io/time';

interface Pending {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now: number;
  #wall: number;
  #order = 0;
  readonly #pending = new Set<Pending>();

  constructor(now = 0, wall = Date.UTC(2026, 0, 1)) {
    this.#now = now;
    this.#wall = wall;
  }

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#wall;
  }

  /** Timers that have not fired and were not cancelled. */
  get timers(): number {
    return this.#pending.size;
  }

  /** The time of the timer that fires first; Infinity without one. */
  get next(): number {
    return Math.min(...Array.from(this.#pending, ({ at }) => at));
  }

  after(milliseconds: number, callback: () => void): Timer {
    const entry: Pending = { at: this.#now + milliseconds, order: this.#order++, callback };
    this.#pending.add(entry);
    return { cancel: () => this.#pending.delete(entry) };
  }

  /** Moves time on and runs every timer that falls due, in order; those they start as well. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      let next: Pending | undefined;
      for (const entry of this.#pending) {
        if (entry.at > end) continue;
        if (!next || entry.at < next.at || (entry.at === next.at && entry.order < next.order)) {
          next = entry;
        }
      }
      if (!next) break;
      this.#pending.delete(next);
      this.#wall += next.at - this.#now;
      this.#now = next.at;
      next.callback();
    }
    this.#wall += end - this.#now;
    this.#now = end;
  }

  /** A step of the wall clock alone, as an operator or NTP would make. */
  stepWall(milliseconds: number): void {
    this.#wall += milliseconds;
  }
}

/** One on which pauses of a few milliseconds pass at once, for tests in which they are nothing but a delay. */
export class ImpatientClock extends ManualClock {
  static readonly SHORT_MS = 10;

  override after(milliseconds: number, callback: () => void): Timer {
    if (milliseconds > ImpatientClock.SHORT_MS) return super.after(milliseconds, callback);
    const immediate = setImmediate(callback);
    return { cancel: () => clearImmediate(immediate) };
  }
}
