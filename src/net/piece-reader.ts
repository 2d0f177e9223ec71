const NOTHING = new Uint8Array(0);

/**
 * Cuts a stream that comes in any pieces into pieces of asked lengths. What lies whole in the bytes
 * that came last is given as it lies there; only what is spread over several of them is copied, into
 * a buffer that is used again.
 *
 * A turn is: `feed`, `take` until it gives nothing, `keep`. What was taken is good for that turn.
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

  /** The next `length` bytes; `undefined` when they are not all there yet. */
  take(length: number): Uint8Array | undefined {
    const fed = this.#fed.length - this.#at;
    if (this.#held + fed < length) return undefined;
    if (this.#held === 0) return this.#fed.subarray(this.#at, (this.#at += length));
    if (this.#held >= length) throw new RangeError('less is asked for than was kept');
    const missing = length - this.#held;
    this.#reserve(length);
    this.#scratch.set(this.#fed.subarray(this.#at, this.#at + missing), this.#held);
    this.#at += missing;
    this.#held = 0;
    return this.#scratch.subarray(0, length);
  }

  /** Ends a turn, and with it the cutting: what was not taken, all of it. */
  rest(): Uint8Array {
    const rest = this.#fed.subarray(this.#at);
    this.feed(NOTHING);
    return rest;
  }

  /** Ends a turn: what was not taken is kept. */
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
    // In powers of two, so that a chunk that comes byte by byte is not copied for each.
    const grown = new Uint8Array(2 ** Math.ceil(Math.log2(length)));
    grown.set(this.#scratch.subarray(0, this.#held));
    this.#scratch = grown;
  }
}
