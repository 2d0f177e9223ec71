/**
 * Bytes that arrive in pieces and are taken in pieces of other lengths: the buffer of frame decoders
 * between two reads. Bytes are copied only when a taken piece spans several chunks.
 */
export class ByteQueue {
  readonly #chunks: Uint8Array[] = [];
  /** Bytes of the first chunk that were taken. */
  #offset = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** The first `length` bytes without taking them; `undefined` while there are fewer. */
  peek(length: number): Uint8Array | undefined {
    if (length > this.#length) return undefined;
    const [first] = this.#chunks;
    if (first === undefined) return new Uint8Array(0);
    if (first.length - this.#offset < length) {
      // Joined in place, so that the next peek or take does not copy again.
      this.#join(length);
      return this.peek(length);
    }
    return first.subarray(this.#offset, this.#offset + length);
  }

  /** Takes exactly `length` bytes; `undefined` while there are fewer. */
  take(length: number): Uint8Array | undefined {
    const bytes = this.peek(length);
    if (bytes) this.#skip(length);
    return bytes;
  }

  /** Takes up to `limit` bytes without a copy; `undefined` when there are none. */
  takeSome(limit: number): Uint8Array | undefined {
    const [first] = this.#chunks;
    return first && this.take(Math.min(limit, first.length - this.#offset));
  }

  /** Makes the first chunk one of at least `length` bytes. */
  #join(length: number): void {
    const parts: Uint8Array[] = [];
    let joined = 0;
    for (const chunk of this.#chunks) {
      if (joined >= length) break;
      const part = parts.length === 0 ? chunk.subarray(this.#offset) : chunk;
      parts.push(part);
      joined += part.length;
    }
    this.#chunks.splice(0, parts.length, Buffer.concat(parts, joined));
    this.#offset = 0;
  }

  #skip(length: number): void {
    this.#offset += length;
    this.#length -= length;
    if (this.#offset === this.#chunks[0]?.length) {
      this.#chunks.shift();
      this.#offset = 0;
    }
  }
}
