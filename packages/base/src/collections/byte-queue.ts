/**
 * Chunks up to this many bytes are appended to the chunk before by copying. As an object each costs some
 * 200 bytes, or keeps alive the memory that it is a part of.
 */
const SHORT_CHUNK = 512;

/** Bytes of each buffer that short chunks are copied into. */
const JOINED_BYTES = 4096;

/**
 * Bytes that arrive in pieces and are taken in pieces of other lengths: the buffer of frame decoders
 * between two reads. Bytes are copied only when a taken piece spans several chunks, and when a short
 * chunk is queued after another: a frame that is received byte by byte costs its bytes, and not an
 * object for each.
 */
export class ByteQueue {
  readonly #chunks: Uint8Array[] = [];
  /** Bytes of the first chunk that were taken. */
  #offset = 0;
  #length = 0;
  /** The buffer whose beginning is the last chunk; `undefined` unless that chunk consists of short ones. */
  #joined: Uint8Array | undefined;

  get length(): number {
    return this.#length;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    if (chunk.length <= SHORT_CHUNK && this.#length > 0) this.#append(chunk);
    else {
      this.#chunks.push(chunk);
      this.#joined = undefined;
    }
    this.#length += chunk.length;
  }

  /** Returns the first `length` bytes without taking them; `undefined` while there are fewer. */
  peek(length: number): Uint8Array | undefined {
    if (length > this.#length) return undefined;
    const [first] = this.#chunks;
    if (first === undefined) return new Uint8Array(0);
    if (first.length - this.#offset < length) {
      // In place, so that the next peek or take does not copy again.
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

  /** Copies a short chunk to the end of the last one, or into a new buffer. */
  #append(chunk: Uint8Array): void {
    const last = this.#chunks.length - 1;
    const used = this.#joined ? (this.#chunks[last]?.length ?? 0) : 0;
    if (this.#joined && used + chunk.length <= this.#joined.length) {
      this.#joined.set(chunk, used);
      this.#chunks[last] = this.#joined.subarray(0, used + chunk.length);
      return;
    }
    // Not from Node's pool, which one part would keep alive as a whole.
    this.#joined = Buffer.allocUnsafeSlow(JOINED_BYTES);
    this.#joined.set(chunk);
    this.#chunks.push(this.#joined.subarray(0, chunk.length));
  }

  /** Joins the first chunks to one of at least `length` bytes. */
  #join(length: number): void {
    const parts: Uint8Array[] = [];
    let joined = 0;
    for (const chunk of this.#chunks) {
      if (joined >= length) break;
      const part = parts.length === 0 ? chunk.subarray(this.#offset) : chunk;
      parts.push(part);
      joined += part.length;
    }
    // If that includes the last chunk, it is no longer the beginning of its buffer.
    if (parts.length === this.#chunks.length) this.#joined = undefined;
    this.#chunks.splice(0, parts.length, Buffer.concat(parts, joined));
    this.#offset = 0;
  }

  #skip(length: number): void {
    this.#offset += length;
    this.#length -= length;
    if (this.#offset === this.#chunks[0]?.length) {
      this.#chunks.shift();
      this.#offset = 0;
      if (this.#chunks.length === 0) this.#joined = undefined;
    }
  }
}
