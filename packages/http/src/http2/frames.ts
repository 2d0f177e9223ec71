import { readUint32, writeUint32 } from '@weir/base/bytes';

/*
 * The frame layer of HTTP/2 (RFC 9113 §4, §6): constants, the header of a frame, and batches of frames.
 */

export const FrameType = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const Flag = {
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

export const FRAME_HEADER_BYTES = 9;
/** Payload lengths of frames of fixed length. */
export const RST_STREAM_BYTES = 4;
export const WINDOW_UPDATE_BYTES = 4;
export const PRIORITY_BYTES = 5;
export const PING_BYTES = 8;
export const SETTING_BYTES = 6;
/** Length of the fixed part of GOAWAY in bytes. */
export const GOAWAY_BYTES = 8;

/** The client connection preface (§3.4). */
export const PREFACE = Uint8Array.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', (char) =>
  char.charCodeAt(0),
);

/** Reads the 31 bits of a stream identifier or a window increment; the bit above is reserved. */
export const readUint31 = (bytes: Uint8Array, at: number): number =>
  readUint32(bytes, at) & ~(1 << 31);

/** Writes the header of a frame (§4.1). Returns the offset after the header. */
export function writeFrameHeader(
  out: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): number {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  writeUint32(out, at + 5, streamId);
  return at + FRAME_HEADER_BYTES;
}

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
