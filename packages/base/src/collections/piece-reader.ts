const NOTHING = new Uint8Array(0);

/**
 * Reads pieces of given lengths from a stream of chunks. A piece within the last chunk is returned
 * without a copy; only one that spans several chunks is copied, into a buffer that is reused.
 *
 * A turn is: `feed`, `take` until it returns `undefined`, `keep`. A piece is valid during its turn.
 */
export class PieceReader {
  #fed: Uint8Array = NOTHING;
  #at = 0;
  #scratch: Uint8Array = NOTHING;
  #held = 0;

  /** Bytes kept from earlier turns. */
  get held(): number {
    return this.#held;
  }

  feed(bytes: Uint8Array): void {
    this.#fed = bytes;
    this.#at = 0;
  }

  /** Returns the next `length` bytes; `undefined` until all of them have been fed. */
  take(length: number): Uint8Array | undefined {
    const fed = this.#fed.length - this.#at;
    if (this.#held + fed < length) return undefined;
    if (this.#held === 0) return this.#fed.subarray(this.#at, (this.#at += length));
    if (this.#held >= length) throw new RangeError('the piece is shorter than the kept bytes');
    const missing = length - this.#held;
    this.#reserve(length);
    this.#scratch.set(this.#fed.subarray(this.#at, this.#at + missing), this.#held);
    this.#at += missing;
    this.#held = 0;
    return this.#scratch.subarray(0, length);
  }

  /** Ends the last turn: returns the bytes that were not taken. */
  rest(): Uint8Array {
    const rest = this.#fed.subarray(this.#at);
    this.feed(NOTHING);
    return rest;
  }

  /** Ends a turn: keeps the bytes that were not taken. */
  keep(): void {
    const rest = this.#fed.subarray(this.#at);
    if (rest.length > 0) {
      this.#reserve(this.#held + rest.length);
      this.#scratch.set(rest, this.#held);
      this.#held += rest.length;
    }
    this.feed(NOTHING);
  }

  #reserve(length: number): void {
    if (this.#scratch.length >= length) return;
    // In powers of two, so that a piece received byte by byte costs linear work.
    const grown = new Uint8Array(2 ** Math.ceil(Math.log2(length)));
    grown.set(this.#scratch.subarray(0, this.#held));
    this.#scratch = grown;
  }
}
