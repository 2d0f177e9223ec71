import type { Clock } from '../../net/time/clock.ts';
import type { InboundMemory } from '../inbounds/inbound-memory.ts';
import { latin1Of } from './keys.ts';

/**
 * How long salts are kept (SIP022 §3.1.4): twice the tolerance for timestamps, and a second more, so that none is
 * both forgotten and valid unless the clock is set back.
 */
const KEPT_MS = 61_000;

/**
 * Maximum number of salts of authentic requests in one minute, around 100 MB. Beyond it requests
 * are rejected, since a request whose salt was forgotten could be replayed.
 */
const MOST_SALTS = 1 << 20;

interface Arrival {
  /** On the monotonic clock. */
  readonly at: number;
  /** The timestamp of the message. */
  readonly stamp: number;
}

/** The salts of the last minute. Exact: a new salt is never mistaken for a known one. */
export class SaltPool {
  readonly #clock: Clock;
  readonly #limit: number;
  /** In order of arrival, so the first ones are the first to expire. */
  readonly #seen = new Map<string, Arrival>();
  /** The greatest timestamp of a message whose salt has been forgotten. */
  #forgotten = -Infinity;

  constructor(clock: Clock, limit = MOST_SALTS) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get size(): number {
    return this.#seen.size;
  }

  /**
   * Adds the salt of an authentic message; returns false when it is known, or without room. Also when it may have
   * been known: a wall clock that was set back makes messages valid again whose salts have been forgotten.
   *
   * @param stamp the message's timestamp, in Unix seconds.
   */
  add(salt: Uint8Array, stamp: number): boolean {
    const now = this.#clock.now();
    for (const [old, arrival] of this.#seen) {
      if (now - arrival.at < KEPT_MS) break;
      this.#seen.delete(old);
      this.#forgotten = Math.max(this.#forgotten, arrival.stamp);
    }
    const key = latin1Of(salt);
    if (stamp <= this.#forgotten) return false;
    if (this.#seen.has(key) || this.#seen.size >= this.#limit) return false;
    this.#seen.set(key, { at: now, stamp });
    return true;
  }
}

/** Salts in each of the two generations of a filter. */
const GENERATION = 1 << 16;

/**
 * The most recent salts of a legacy inbound, whose requests have no timestamps: between one and two
 * generations. Exact: a new salt is never mistaken for a known one.
 */
export class SaltFilter {
  readonly #generation: number;
  #current = new Set<string>();
  #previous = new Set<string>();

  constructor(generation = GENERATION) {
    this.#generation = generation;
  }

  has(salt: Uint8Array): boolean {
    const key = latin1Of(salt);
    return this.#current.has(key) || this.#previous.has(key);
  }

  /** Adds the salt of an authentic message; returns false when it is known. */
  add(salt: Uint8Array): boolean {
    if (this.has(salt)) return false;
    const key = latin1Of(salt);
    if (this.#current.size >= this.#generation) {
      this.#previous = this.#current;
      this.#current = new Set();
    }
    this.#current.add(key);
    return true;
  }
}

/** The salts of `what` in a legacy inbound, shared by its successive handlers. */
export const saltsOf = (memory: InboundMemory, what: string): SaltFilter =>
  memory.recall(`Shadowsocks salts of ${what}`, SaltFilter, () => new SaltFilter());
