/** Packets that may arrive late, counted back from the newest. */
const WINDOW = 2048;
const WORD = 32;

/**
 * Which numbered packets of a session have come (as in RFC 6479): one that came before, or is older
 * than the window, is refused.
 */
export class SlidingWindow {
  readonly #bits = new Uint32Array(WINDOW / WORD + 1);
  #newest = -1;

  /** Whether `id` is new. Ask before a packet is opened, `mark` after it proved authentic. */
  isNew(id: number): boolean {
    if (id > this.#newest) return true;
    if (this.#newest - id >= WINDOW) return false;
    return ((this.#bits[this.#wordOf(id)] ?? 0) & this.#bitOf(id)) === 0;
  }

  mark(id: number): void {
    const word = Math.floor(id / WORD);
    if (id > this.#newest) {
      const newestWord = Math.floor(this.#newest / WORD);
      const cleared = Math.min(word - newestWord, this.#bits.length);
      for (let i = 0; i < cleared; i++) this.#bits[(word - i) % this.#bits.length] = 0;
      this.#newest = id;
    }
    const index = this.#wordOf(id);
    this.#bits[index] = (this.#bits[index] ?? 0) | this.#bitOf(id);
  }

  #wordOf(id: number): number {
    return Math.floor(id / WORD) % this.#bits.length;
  }

  #bitOf(id: number): number {
    return 1 << (id % WORD);
  }
}
