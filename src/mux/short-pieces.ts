/**
 * A shorter piece is copied when it has to wait: a view of it would keep the chunk that it came in,
 * 64 KB, and cost some 200 bytes as an object.
 */
export const SHORT_BYTES = 4096;
const NOTHING = new Uint8Array(0);

/** Short pieces behind each other in memory of their own. */
export class ShortPieces {
  #buffer: Uint8Array = NOTHING;
  #length = 0;

  get empty(): boolean {
    return this.#length === 0;
  }

  /** Whether so many bytes more fit to those that are there. */
  hasRoom(length: number): boolean {
    return this.#length + length <= this.#buffer.length;
  }

  /** Appends a piece that fits, or begins with one of less than SHORT_BYTES. */
  add(piece: Uint8Array): void {
    // Not from Node's pool, of which a part would keep the whole as well.
    if (this.empty) this.#buffer = Buffer.allocUnsafeSlow(SHORT_BYTES);
    this.#buffer.set(piece, this.#length);
    this.#length += piece.length;
  }

  /** All of them as one piece; they are the caller's. */
  take(): Uint8Array {
    const pieces = this.#buffer.subarray(0, this.#length);
    this.#buffer = NOTHING;
    this.#length = 0;
    return pieces;
  }
}
