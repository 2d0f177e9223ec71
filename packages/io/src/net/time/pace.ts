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

/** A token bucket: limits events to a rate, with bursts up to its size. It is full at first. */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #filledAt: number | undefined;

  /** @param burst the size of the bucket; the events of one second by default. */
  constructor(perSecond: number, burst = perSecond) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#left = burst;
  }

  /** Takes `cost` events if they are within the limit. @param now milliseconds. */
  take(now: number, cost = 1): boolean {
    const elapsed = now - (this.#filledAt ?? now);
    this.#filledAt = now;
    this.#left = Math.min(this.#burst, this.#left + (elapsed * this.#perSecond) / 1000);
    if (this.#left < cost) return false;
    this.#left -= cost;
    return true;
  }

  /** Gives one event back to the bucket. */
  giveBack(): void {
    this.#left = Math.min(this.#burst, this.#left + 1);
  }
}
