import type { Clock } from '../../net/clock.ts';
import type { InboundMemory } from '../inbound-memory.ts';

/** How long SIP022 §3.1.4 wants salts kept: twice what a timestamp may be off. */
const KEPT_MS = 60_000;

/**
 * A bound on what one minute of authentic requests may fill; beyond it requests are refused, for a
 * salt that was forgotten could be replayed. Around 100 MB.
 */
const MOST_SALTS = 1 << 20;

const keyOf = (salt: Uint8Array): string =>
  Buffer.from(salt.buffer, salt.byteOffset, salt.length).toString('latin1');

/** The salts of the last minute, exactly: no salt is ever refused for another's sake. */
export class SaltPool {
  readonly #clock: Clock;
  readonly #limit: number;
  /** In order of arrival, so the first ones are the first to be forgotten. */
  readonly #seenAt = new Map<string, number>();

  constructor(clock: Clock, limit = MOST_SALTS) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get size(): number {
    return this.#seenAt.size;
  }

  /** Takes note of the salt of an authentic message; false when it was seen, or there is no room. */
  add(salt: Uint8Array): boolean {
    const now = this.#clock.now();
    for (const [old, at] of this.#seenAt) {
      if (now - at < KEPT_MS) break;
      this.#seenAt.delete(old);
    }
    const key = keyOf(salt);
    if (this.#seenAt.has(key) || this.#seenAt.size >= this.#limit) return false;
    this.#seenAt.set(key, now);
    return true;
  }
}

/** Salts in each of the two generations of a filter. */
const GENERATION = 1 << 16;

/**
 * The most recent salts of a legacy inbound, which has no timestamps: between one and two
 * generations of them. No salt is refused that was not seen.
 */
export class SaltFilter {
  readonly #generation: number;
  #current = new Set<string>();
  #previous = new Set<string>();

  constructor(generation = GENERATION) {
    this.#generation = generation;
  }

  has(salt: Uint8Array): boolean {
    const key = keyOf(salt);
    return this.#current.has(key) || this.#previous.has(key);
  }

  /** Takes note of the salt of an authentic message; false when it was seen. */
  add(salt: Uint8Array): boolean {
    if (this.has(salt)) return false;
    const key = keyOf(salt);
    if (this.#current.size >= this.#generation) {
      this.#previous = this.#current;
      this.#current = new Set();
    }
    this.#current.add(key);
    return true;
  }
}

/** The salts that a legacy inbound has seen of `what`, across its handlers. */
export const saltsOf = (memory: InboundMemory, what: string): SaltFilter =>
  memory.recall(`Shadowsocks salts of ${what}`, SaltFilter, () => new SaltFilter());
