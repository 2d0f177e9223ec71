import { LEAST_HEAD_BYTES, MAX_ALL_HEAD_BYTES } from '../limits.ts';
import { MessageError } from './message-error.ts';

/**
 * Memory of the unfinished heads of many connections. Beyond MAX_ALL_HEAD_BYTES each head may still use
 * LEAST_HEAD_BYTES, so that clients with long unfinished heads do not affect clients with short ones.
 */
export class HeadMemory {
  #bytes = 0;

  /** Number of bytes used by all unfinished heads. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the claim of a new head. Disposing of the claim releases its memory. */
  claim(): HeadClaim {
    return new HeadClaim((change) => (this.#bytes += change));
  }
}

/** The memory of one unfinished head. */
class HeadClaim implements Disposable {
  /** @returns the number of bytes that all heads use after the change. */
  readonly #change: (bytes: number) => number;
  #bytes = 0;

  constructor(change: (bytes: number) => number) {
    this.#change = change;
  }

  /**
   * Sets the number of bytes that the head uses.
   * @throws {MessageError} 431 if the limits do not allow it.
   */
  resize(bytes: number): void {
    const all = this.#change(bytes - this.#bytes);
    this.#bytes = bytes;
    if (all <= MAX_ALL_HEAD_BYTES || bytes <= LEAST_HEAD_BYTES) return;
    throw new MessageError(431, 'the head is long, and so are too many unfinished ones of others');
  }

  [Symbol.dispose](): void {
    this.#change(-this.#bytes);
    this.#bytes = 0;
  }
}
