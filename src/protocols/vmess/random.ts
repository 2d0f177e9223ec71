import { randomFillSync } from 'node:crypto';

/** Where unpredictable bytes come from; tests put known ones in its place. */
export interface Random {
  /** So many bytes, which nobody else gets. */
  bytes(length: number): Uint8Array;
  /** Fills `target`. */
  into(target: Uint8Array): void;
}

const POOL = 8192;

/** The system's random bytes, fetched in larger pieces: padding takes a few for every chunk. */
export class PooledRandom implements Random {
  readonly #pool = new Uint8Array(POOL);
  #used = POOL;

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    this.into(bytes);
    return bytes;
  }

  into(target: Uint8Array): void {
    if (target.length > POOL) {
      randomFillSync(target);
      return;
    }
    if (this.#used + target.length > POOL) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    const end = this.#used + target.length;
    target.set(this.#pool.subarray(this.#used, end));
    // What was handed out may be a key: it is not kept.
    this.#pool.fill(0, this.#used, end);
    this.#used = end;
  }
}
