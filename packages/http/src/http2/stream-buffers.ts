import { freeChunk } from '@weir/io/links';
import type { HttpField } from '../fields/field.ts';

/** Sizes in bytes of the first and the largest buffer for small pieces; each is twice as large as the previous one. */
const SMALLEST_TAIL = 256;
const LARGEST_TAIL = 16 << 10;

const EMPTY = new Uint8Array(0);

/**
 * Received data of a stream that its reader has not taken. Pieces are views of the received chunk until `settle` copies
 * the remaining ones. Small pieces share a buffer, so that single bytes from a peer use little more memory than their
 * number.
 */
export class Received {
  #pieces: Uint8Array[] = [];
  /** Number of copied pieces, from the first on. */
  #settled = 0;
  length = 0;
  /** The buffer of the last copied piece, and the number of bytes used in it. */
  #tail: Uint8Array = EMPTY;
  #tailUsed = 0;

  push(view: Uint8Array): void {
    this.#pieces.push(view);
    this.length += view.length;
  }

  /** Copies the pieces that are views; afterwards nothing refers to the received chunk. */
  settle(): void {
    const pieces = this.#pieces;
    const fresh = pieces.length - this.#settled;
    if (fresh === 0) return;
    const views = pieces.splice(this.#settled, fresh);
    for (const view of views) this.#settleOne(view);
    this.#settled = pieces.length;
  }

  /** Takes pieces of up to `limit` bytes, which must be used or copied before the next call. */
  take(limit: number): readonly Uint8Array[] {
    const pieces = this.#pieces;
    if (this.length <= limit) {
      this.#pieces = [];
      this.length = 0;
      this.#settled = 0;
      this.#tail = EMPTY;
      this.#tailUsed = 0;
      return pieces;
    }
    let count = 0;
    let left = limit;
    for (let piece = pieces[0]; piece && piece.length <= left; piece = pieces[count]) {
      left -= piece.length;
      count++;
    }
    const taken = pieces.splice(0, count);
    this.#settled = Math.max(0, this.#settled - count);
    const [next] = pieces;
    if (next && left > 0) {
      taken.push(next.subarray(0, left));
      pieces[0] = next.subarray(left);
    }
    this.length -= limit;
    return taken;
  }

  /** Discards all data. */
  clear(): void {
    this.take(this.length);
  }

  #settleOne(view: Uint8Array): void {
    const pieces = this.#pieces;
    const last = pieces.at(-1);
    const used = this.#tailUsed;
    if (last && used + view.length <= this.#tail.length) {
      this.#tail.set(view, used);
      this.#tailUsed += view.length;
      pieces[pieces.length - 1] = this.#tail.subarray(used - last.length, this.#tailUsed);
      return;
    }
    const doubled = Math.min(LARGEST_TAIL, Math.max(SMALLEST_TAIL, this.#tail.length * 2));
    this.#tail = new Uint8Array(Math.max(doubled, view.length));
    this.#tail.set(view);
    this.#tailUsed = view.length;
    pieces.push(this.#tail.subarray(0, view.length));
  }
}

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
  length = 0;
  /** Whether END_STREAM follows the queued data. */
  isEnded = false;
  /** Trailers to send after the data, if any. */
  trailers: readonly HttpField[] | undefined;

  end(trailers: readonly HttpField[] | undefined): void {
    this.isEnded = true;
    this.trailers = trailers;
  }

  push(bytes: Uint8Array, isOwned: boolean): void {
    if (bytes.length === 0) return;
    this.#pieces.push({ bytes, isOwned });
    this.length += bytes.length;
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
    this.length -= length - left;
  }

  /** Discards the data. */
  clear(): void {
    for (const { bytes, isOwned } of this.#pieces) if (isOwned) freeChunk(bytes);
    this.#pieces = [];
    this.#offset = 0;
    this.length = 0;
  }
}
