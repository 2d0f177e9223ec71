import type { Clock } from './clock.ts';

/** Milliseconds in which a key is logged at most once. */
const INTERVAL_MS = 60_000;
/** Keys logged in that interval; all others share one line. */
const MAX_KEYS = 1024;

interface Entry {
  readonly loggedAt: number;
  /** Events since the last line that were not logged. */
  suppressed: number;
}

/** An event that is to be logged. */
export interface LogNote {
  /** Events that were not logged since the last line of the same key, or of `others`. */
  readonly suppressed: number;
  /** Whether the key is among those that share a line. */
  readonly others: boolean;
}

/**
 * Decides which of many similar events are logged, so that clients cannot fill the disk, neither
 * from one address nor from many.
 */
export class LogLimiter {
  readonly #clock: Clock;
  readonly #limit: number;
  /** Keys in the order of their last lines, so the first entry is the first to expire. */
  readonly #entries = new Map<string, Entry>();
  #others: Entry | undefined;

  constructor(clock: Clock, limit = MAX_KEYS) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Counts an event; `undefined` when it is not to be logged. */
  note(key: string): LogNote | undefined {
    const now = this.#clock.now();
    const before = this.#entries.get(key);
    const others = !before && !this.#hasRoom(now);
    const last = others ? this.#others : before;
    if (last && now - last.loggedAt < INTERVAL_MS) {
      last.suppressed++;
      return undefined;
    }
    const entry = { loggedAt: now, suppressed: 0 };
    if (others) {
      this.#others = entry;
    } else {
      this.#entries.delete(key); // to be inserted last
      this.#entries.set(key, entry);
    }
    return { suppressed: last?.suppressed ?? 0, others };
  }

  /** Whether there is room for another key; deletes expired entries when there is not. */
  #hasRoom(now: number): boolean {
    for (const [key, { loggedAt }] of this.#entries) {
      if (this.#entries.size < this.#limit || now - loggedAt < INTERVAL_MS) break;
      this.#entries.delete(key);
    }
    return this.#entries.size < this.#limit;
  }
}
