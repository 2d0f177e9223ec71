/** Size of a batch in bytes, unless a single frame needs more: a relay's chunk with its frame headers. */
const BATCH_BYTES = 80 << 10;
/** Size in bytes from which a batch is sent at once; smaller batches are sent at the end of the turn. */
export const FULL_BATCH_BYTES = 48 << 10;

/** Number of buffers of sent batches that all connections of a thread keep for reuse. */
const KEPT_BATCHES = 8;
const kept: Uint8Array<ArrayBuffer>[] = [];

const EMPTY: Uint8Array<ArrayBuffer> = new Uint8Array(0);

/**
 * Frames for the underlying link, contiguous in memory, so that they are sent with one write and few TLS records. A
 * connection with no data to send holds no buffer.
 */
export class FrameBatch {
  #bytes = EMPTY;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Number of bytes that fit into a batch of the usual size. */
  get room(): number {
    return BATCH_BYTES - this.#length;
  }

  /** Makes room for a frame of `length` bytes and returns its offset in `bytes`. */
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

  /** Returns the batch, which then belongs to the caller. */
  take(): Uint8Array<ArrayBuffer> {
    const batch = this.#bytes.subarray(0, this.#length);
    this.#bytes = EMPTY;
    this.#length = 0;
    return batch;
  }

  #grow(needed: number): void {
    const again = needed <= BATCH_BYTES ? kept.pop() : undefined;
    // Doubled, so that a batch that waits for the underlying link is not copied for each frame.
    const size = needed <= BATCH_BYTES ? BATCH_BYTES : Math.max(needed, this.#bytes.length * 2);
    const bytes = again ?? Buffer.allocUnsafeSlow(size);
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = bytes;
  }
}

/** Recycles the memory of a batch that is no longer used. */
export function recycleBatch({ buffer }: Uint8Array<ArrayBuffer>): void {
  if (buffer.byteLength === BATCH_BYTES && kept.length < KEPT_BATCHES) {
    kept.push(new Uint8Array(buffer));
  }
}
