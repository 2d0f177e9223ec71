/**
 * The nonces of one direction: the number of the chunk in 16 bits, then bytes 2 to 11 of the IV.
 *
 * The number wraps after 65,536 chunks, as it does with every peer: to stop there would cut every
 * long stream.
 */
export class ChunkNonce {
  readonly #bytes: Uint8Array;
  #count = 0;

  constructor(iv: Uint8Array) {
    this.#bytes = new Uint8Array(iv.subarray(0, 12));
  }

  /** The next nonce, good until the one after. */
  next(): Uint8Array {
    this.#bytes[0] = this.#count >> 8;
    this.#bytes[1] = this.#count & 0xff;
    this.#count = (this.#count + 1) & 0xffff;
    return this.#bytes;
  }
}
