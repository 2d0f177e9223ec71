import { randomFillSync, randomInt } from 'node:crypto';

/**
 * Where unpredictable bytes come from: keys, salts, ids, padding. Whatever needs them is given a
 * source, so that tests can put known bytes in its place.
 */
export interface RandomSource {
  /** `length` bytes in memory of their own. */
  bytes(length: number): Buffer;
  /** Fills `target`. */
  fill(target: Uint8Array): void;
  /** A whole number from 0 up to, and without, `limit`; each equally likely. */
  below(limit: number): number;
}

const POOL_BYTES = 8192;

/**
 * The system's random bytes, fetched in larger pieces: padding and masks take a few for every
 * chunk, and one call of `randomFillSync` costs as much for 4 bytes as for 1,000.
 */
export class SystemRandomSource implements RandomSource {
  readonly #pool = Buffer.alloc(POOL_BYTES);
  #used = POOL_BYTES;

  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(length);
    this.fill(bytes);
    return bytes;
  }

  fill(target: Uint8Array): void {
    if (target.length > POOL_BYTES) {
      randomFillSync(target);
      return;
    }
    if (this.#used + target.length > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    const end = this.#used + target.length;
    target.set(this.#pool.subarray(this.#used, end));
    // What was handed out may be a key: it is not kept.
    this.#pool.fill(0, this.#used, end);
    this.#used = end;
  }

  below(limit: number): number {
    return randomInt(limit);
  }
}
