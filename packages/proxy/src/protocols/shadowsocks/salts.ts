import type { Clock } from '@weir/io/time';
import type { InboundMemory } from '../inbounds/inbound-memory.ts';
import { latin1Of } from './keys.ts';

/**
 * Maximum number of salts of authentic requests in one minute, around 100 MB. Beyond this number requests are rejected,
 * since a request whose salt was forgotten could be replayed.
 */
const MOST_SALTS = 1 << 20;

/** The salts of the last minute. The check is exact: a new salt is never mistaken for a known one. */
export class SaltPool {
  readonly #limit: number;
  readonly #seen: StampedEntries<true>;

  constructor(clock: Clock, limit = MOST_SALTS) {
    this.#limit = limit;
    this.#seen = new StampedEntries(clock);
  }

  get size(): number {
    return this.#seen.size;
  }

  /**
   * Adds the salt of an authentic message; returns false when it is known, when there is no room, and when it may have
   * been known: a wall clock that was set back makes messages valid again whose salts have been forgotten.
   *
   * @param stamp the message's timestamp, in Unix seconds.
   */
  add(salt: Uint8Array, stamp: number): boolean {
    this.#seen.forgetOld();
    const key = latin1Of(salt);
    if (stamp <= this.#seen.forgotten) return false;
    if (this.#seen.has(key) || this.#seen.size >= this.#limit) return false;
    this.#seen.set(key, true, stamp);
    return true;
  }
}

/** Salts in each of the two generations of a filter. */
const GENERATION = 1 << 16;

/**
 * The most recent salts of a legacy inbound, whose requests have no timestamps: between one and two
 * generations. The check is exact: a new salt is never mistaken for a known one.
 */
export class SaltFilter {
  readonly #generation: number;
  #current = new Set<string>();
  #previous = new Set<string>();

  constructor(generation = GENERATION) {
    this.#generation = generation;
  }

  has(salt: Uint8Array): boolean {
    return this.#isKnown(latin1Of(salt));
  }

  /** Adds the salt of an authentic message; returns false when it is known. */
  add(salt: Uint8Array): boolean {
    const key = latin1Of(salt);
    if (this.#isKnown(key)) return false;
    if (this.#current.size >= this.#generation) {
      this.#previous = this.#current;
      this.#current = new Set();
    }
    this.#current.add(key);
    return true;
  }

  #isKnown(key: string): boolean {
    return this.#current.has(key) || this.#previous.has(key);
  }
}

/** Returns the filter for the salts of `what` in a legacy inbound, shared by its successive handlers. */
export const saltsOf = (memory: InboundMemory, what: string): SaltFilter =>
  memory.recall(`Shadowsocks salts of ${what}`, SaltFilter, () => new SaltFilter());

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
