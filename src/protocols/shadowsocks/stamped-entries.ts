import type { Clock } from '../../net/time/clock.ts';

/**
 * Milliseconds for which entries are kept (SIP022 §3.1.4, §3.2.4: at least 60 s): twice the tolerance for timestamps,
 * and a second more, so that no message is both forgotten and valid unless the wall clock is set back.
 */
const KEPT_MS = 61_000;

interface Entry<Value> {
  readonly value: Value;
  /** The timestamp of a message, in Unix seconds. */
  readonly stamp: number;
  /** Time at which the entry expires, on the monotonic clock. */
  readonly until: number;
}

/**
 * Entries for the messages of the last minute, with their timestamps. A wall clock that was set back makes forgotten
 * messages valid again, so their greatest timestamp is remembered.
 */
export class StampedEntries<Value> {
  readonly #clock: Clock;
  /** Entries in order of their times, so that the first ones are the first to expire. */
  readonly #entries = new Map<string, Entry<Value>>();
  #forgotten = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The greatest timestamp of an entry that has been forgotten: new messages must be later. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Returns the value of a remembered entry. */
  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Adds an entry, or renews it with another value. */
  set(key: string, value: Value, stamp: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, stamp, until: this.#clock.now() + KEPT_MS });
  }

  /** Removes an entry that does not count as forgotten. */
  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Forgets expired entries, and the oldest of more than `most`. */
  forgetOld(most = Infinity): void {
    const now = this.#clock.now();
    for (const [key, { stamp, until }] of this.#entries) {
      if (now < until && this.#entries.size <= most) return;
      this.#entries.delete(key);
      this.#forgotten = Math.max(this.#forgotten, stamp);
    }
  }
}
