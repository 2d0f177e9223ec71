import { freeChunk } from '../../net/links/spent-chunk.ts';
import type { HttpField } from '../fields/field.ts';

interface Piece {
  readonly bytes: Uint8Array;
  /** Whether the memory of the piece may be freed once it is copied. */
  readonly isOwned: boolean;
}

/** The send side of a stream: data that waits for windows or the underlying link, trailers, END_STREAM. */
export class SendQueue {
  #pieces: Piece[] = [];
  /** Number of copied bytes of the first piece. */
  #offset = 0;
  #length = 0;
  #isEnded = false;
  #trailers: readonly HttpField[] | undefined;

  get length(): number {
    return this.#length;
  }

  /** Whether END_STREAM follows the queued data. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Trailers to send after the data, if any. */
  get trailers(): readonly HttpField[] | undefined {
    return this.#trailers;
  }

  end(trailers: readonly HttpField[] | undefined): void {
    this.#isEnded = true;
    this.#trailers = trailers;
  }

  push(bytes: Uint8Array, isOwned: boolean): void {
    if (bytes.length === 0) return;
    this.#pieces.push({ bytes, isOwned });
    this.#length += bytes.length;
  }

  /** Moves the first `length` bytes to `out`; the queue must have at least that many. */
  copyTo(out: Uint8Array, offset: number, length: number): void {
    let done = 0;
    let at = offset;
    let left = length;
    for (let piece = this.#pieces[0]; piece && left > 0; piece = this.#pieces[done]) {
      const { bytes, isOwned } = piece;
      const count = Math.min(left, bytes.length - this.#offset);
      out.set(
        count === bytes.length ? bytes : bytes.subarray(this.#offset, this.#offset + count),
        at,
      );
      at += count;
      left -= count;
      this.#offset += count;
      if (this.#offset < bytes.length) break;
      if (isOwned) freeChunk(bytes);
      this.#offset = 0;
      done++;
    }
    if (done === this.#pieces.length) this.#pieces = [];
    else if (done > 0) this.#pieces.splice(0, done);
    this.#length -= length - left;
  }

  /** Discards the data. */
  clear(): void {
    for (const { bytes, isOwned } of this.#pieces) if (isOwned) freeChunk(bytes);
    this.#pieces = [];
    this.#offset = 0;
    this.#length = 0;
  }
}
