import { randomFillSync, randomInt } from 'node:crypto';

/**
 * A source of unpredictable bytes for keys, salts, ids and padding. It is always injected, so that tests can provide
 * known bytes.
 */
export interface RandomSource {
  /** Returns `length` random bytes in a new buffer. */
  bytes(length: number): Buffer;
  /** Fills `target` with random bytes. */
  fill(target: Uint8Array): void;
  /** Returns a uniformly distributed integer from 0 to `limit` - 1. */
  below(limit: number): number;
}

const POOL_BYTES = 8192;
/** Length in bytes up to which a loop is faster than two views of the pool. */
const SHORT_BYTES = 32;

/**
 * The system's random bytes, fetched in larger pieces: padding and masking keys need a few bytes
 * per chunk, and a call of `randomFillSync` costs as much for 4 bytes as for 1,000.
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
    const start = this.#used;
    const end = start + target.length;
    this.#used = end;
    // Returned bytes may become a key, so they are cleared in the pool.
    if (target.length <= SHORT_BYTES) {
      for (let at = start; at < end; at++) {
        target[at - start] = this.#pool[at] as number; // within the pool
        this.#pool[at] = 0;
      }
      return;
    }
    target.set(this.#pool.subarray(start, end));
    this.#pool.fill(0, start, end);
  }

  below(limit: number): number {
    return randomInt(limit);
  }
}
