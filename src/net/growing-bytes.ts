const LEAST = 256;

/**
 * Bytes that are appended to piece by piece. The space doubles when it is used up, so that the work
 * is linear in the bytes however short the pieces are; the caller bounds how many there are.
 */
export class GrowingBytes {
  #space = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All bytes so far; later ones do not change them. */
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
