/** What one batch holds unless single frames need more: a chunk of a relay with its frame headers. */
export const BATCH_BYTES = 80 << 10;
/** Batches of this size are sent at once, smaller ones at the end of the turn. */
export const FULL_BATCH_BYTES = 48 << 10;

/** Memory of batches that were sent, for the connections of a thread together. */
const KEPT_BATCHES = 8;
const kept: Uint8Array<ArrayBuffer>[] = [];

const EMPTY: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/**
 * Frames for the link below, one after the other in memory, so that they leave with one write and few
 * TLS records. A connection that has nothing to send has no batch.
 */
export class FrameBatch {
  #bytes = EMPTY;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Bytes that fit in a batch of the usual size. */
  get room(): number {
    return BATCH_BYTES - this.#length;
  }

  /** Room for a frame of `length` bytes: the offset where it begins in `bytes`. */
  reserve(length: number): number {
    const at = this.#length;
    const needed = at + length;
    if (needed > this.#bytes.length) this.#grow(needed);
    this.#length = needed;
    return at;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** The batch, which is now the caller's. */
  take(): Uint8Array<ArrayBuffer> {
    const batch = this.#bytes.subarray(0, this.#length);
    this.#bytes = EMPTY;
    this.#length = 0;
    return batch;
  }

  #grow(needed: number): void {
    const again = needed <= BATCH_BYTES ? kept.pop() : undefined;
    // Doubled, so that a batch that the link below does not take is not copied for each frame.
    const size = needed <= BATCH_BYTES ? BATCH_BYTES : Math.max(needed, this.#bytes.length * 2);
    const bytes = again ?? Buffer.allocUnsafeSlow(size);
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = bytes;
  }
}

/** Gives back the memory of a batch that is not used any more. */
export function recycleBatch({ buffer }: Uint8Array<ArrayBuffer>): void {
  if (buffer.byteLength === BATCH_BYTES && kept.length < KEPT_BATCHES) {
    kept.push(new Uint8Array(buffer));
  }
}
