const WORD_BITS = 32;

/**
 * A sliding window of the received packet numbers of a session (as in RFC 6479): a number that was received before, or
 * is older than the window, is rejected. Memory is fixed; every call takes constant time.
 */
export class ReplayWindow {
  readonly #size: number;
  readonly #bits: Uint32Array;
  #newest = -1;

  /** @param size the number of packets behind the newest that may still arrive; a multiple of 32. */
  constructor(size: number) {
    this.#size = size;
    // One word more than the window, so that clearing the newest word leaves the oldest intact.
    this.#bits = new Uint32Array(size / WORD_BITS + 1);
  }

  /** Whether `number`, a safe integer from 0 on, is new. Call `mark` once the packet is authenticated. */
  isNew(number: number): boolean {
    if (number > this.#newest) return true;
    if (this.#newest - number >= this.#size) return false;
    return ((this.#bits[this.#wordOf(number)] ?? 0) & bitOf(number)) === 0;
  }

  /** Records the number of an authentic packet. */
  mark(number: number): void {
    const word = Math.floor(number / WORD_BITS);
    if (number > this.#newest) {
      const newestWord = Math.floor(this.#newest / WORD_BITS);
      const cleared = Math.min(word - newestWord, this.#bits.length);
      for (let i = 0; i < cleared; i++) this.#bits[(word - i) % this.#bits.length] = 0;
      this.#newest = number;
    }
    const index = this.#wordOf(number);
    this.#bits[index] = (this.#bits[index] ?? 0) | bitOf(number);
  }

  #wordOf(number: number): number {
    return Math.floor(number / WORD_BITS) % this.#bits.length;
  }
}

const bitOf = (number: number): number => 1 << (number % WORD_BITS);
