/** Sizes of the first and the largest buffer for small pieces; each is twice the one before. */
const SMALLEST_TAIL = 256;
const LARGEST_TAIL = 16 << 10;

const EMPTY = new Uint8Array(0);

/**
 * Received data of a stream that its reader has not taken. Pieces are views of the chunk read from the
 * link below until `settle` copies those that remain. Small ones share a buffer, so that a peer that
 * sends single bytes makes this side hold little more than it has sent.
 */
export class Received {
  #pieces: Uint8Array[] = [];
  /** How many pieces, from the first, were copied. */
  #settled = 0;
  #length = 0;
  /** The buffer of the last settled piece, and how much of it is used. */
  #tail: Uint8Array = EMPTY;
  #tailUsed = 0;

  get length(): number {
    return this.#length;
  }

  push(view: Uint8Array): void {
    this.#pieces.push(view);
    this.#length += view.length;
  }

  /** Copies the pieces that are views; afterwards nothing refers to the chunk that was read. */
  settle(): void {
    const pieces = this.#pieces;
    const fresh = pieces.length - this.#settled;
    if (fresh === 0) return;
    const views = pieces.splice(this.#settled, fresh);
    for (const view of views) this.#settleOne(view);
    this.#settled = pieces.length;
  }

  /** Takes pieces of up to `limit` bytes, to be used or copied before the next call. */
  take(limit: number): readonly Uint8Array[] {
    const pieces = this.#pieces;
    if (this.#length <= limit) {
      this.#pieces = [];
      this.#length = 0;
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
    this.#length -= limit;
    return taken;
  }

  /** Drops everything. */
  clear(): void {
    this.take(this.#length);
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
