const LEAST = 256;

/**
 * A byte array that grows. Its space doubles, so that the work is linear in the bytes whatever the size of the
 * pieces; the caller bounds the length.
 */
export class GrowingBytes {
  #space = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All bytes so far; later calls of `append` do not change them. */
  get bytes(): Uint8Array {
    return this.#space.subarray(0, this.#length);
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#space.length) {
      const larger = new Uint8Array(Math.max(LEAST, length, 2 * this.#space.length));
      larger.set(this.bytes);
      this.#space = larger;
    }
    this.#space.set(piece, this.#length);
    this.#length = length;
  }
}
