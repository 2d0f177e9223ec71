import { LEAST_HEAD_BYTES, MAX_ALL_HEAD_BYTES } from './limits.ts';
import { MessageError } from './message-error.ts';

/**
 * What the unfinished heads of many connections hold together. Beyond MAX_ALL_HEAD_BYTES each may still have
 * LEAST_HEAD_BYTES, so that clients that send long heads without an end take nothing from those with short ones.
 */
export class HeadMemory {
  #bytes = 0;

  /** Held by all unfinished heads. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A head that has nothing yet. Disposing of it gives its memory back. */
  claim(): HeadClaim {
    return new HeadClaim((change) => (this.#bytes += change));
  }
}

/** The memory of one unfinished head. */
export class HeadClaim implements Disposable {
  /** @returns what all heads hold after the change. */
  readonly #change: (bytes: number) => number;
  #bytes = 0;

  constructor(change: (bytes: number) => number) {
    this.#change = change;
  }

  /**
   * Sets what the head holds.
   * @throws {MessageError} 431 when that is more than there is room for.
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
