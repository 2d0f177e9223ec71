import { GrowingBytes } from '@weir/base/bytes';
import { readVarint, TRUNCATED, varintSize, varintSizeAt, writeVarint } from '@weir/quic/varint';
import { connectionError, type Http3Error } from './errors.ts';
import type { ByteLink } from '@weir/io/links';

/** Frame types (RFC 9114 §7.2). */
export const FrameType = {
  DATA: 0x00,
  HEADERS: 0x01,
  CANCEL_PUSH: 0x03,
  SETTINGS: 0x04,
  PUSH_PROMISE: 0x05,
  GOAWAY: 0x07,
  MAX_PUSH_ID: 0x0d,
} as const;

/** Frame types of HTTP/2 that have no counterpart in HTTP/3: their receipt is an error (RFC 9114 §7.2.8). */
const HTTP2_TYPES: ReadonlySet<number> = new Set([0x02, 0x06, 0x08, 0x09]);

/** Whether a frame type is reserved because HTTP/2 used it. */
export const isHttp2Frame = (type: number): boolean => HTTP2_TYPES.has(type);

/** How the payload of a frame is handled: buffered until complete, delivered as it arrives, or discarded. */
export type Payload = 'whole' | 'pieces' | 'dropped';

/** Receives the frames of a stream. */
export interface FrameSink {
  /**
   * Called when the header of a frame has arrived. A sink that returns 'whole' must have checked the length. Type and
   * length are Infinity above 2^53 - 1.
   */
  onFrame(type: number, length: number): Payload | Http3Error;
  /** Called with the payload or a piece of it, valid during the call. A piece is never empty. */
  onPayload(type: number, payload: Uint8Array): Http3Error | undefined;
}

/** Maximum length of a frame header in bytes: two varints, type and length. */
const HEAD_LIMIT = 16;

/** Splits a stream into frames (RFC 9114 §7.1), whatever the boundaries of its chunks. */
export class FrameReader {
  readonly #sink: FrameSink;
  /** The received part of a frame header. */
  readonly #head = new Uint8Array(HEAD_LIMIT);
  #headLength = 0;
  #type = 0;
  /** Number of bytes left of the payload; 0 between frames. */
  #missing = 0;
  #payload: Payload = 'dropped';
  /** Buffers a payload that did not arrive in one piece. */
  #whole: GrowingBytes | undefined;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Reads a chunk. Must not be called again after an error. */
  feed(bytes: Uint8Array): Http3Error | undefined {
    let at = 0;
    while (at < bytes.length) {
      if (this.#missing > 0) {
        const end = Math.min(bytes.length, at + this.#missing);
        const error = this.#take(bytes.subarray(at, end));
        if (error) return error;
        at = end;
        continue;
      }
      this.#head[this.#headLength++] = bytes[at++] as number; // below the length
      const error = this.#tryHead();
      if (error) return error;
    }
    return undefined;
  }

  /** Called when the stream has ended; returns H3_FRAME_ERROR within a frame (§7.1). */
  end(): Http3Error | undefined {
    return this.#missing > 0 || this.#headLength > 0
      ? connectionError('H3_FRAME_ERROR', 'the stream ended within a frame')
      : undefined;
  }

  /** Discards the buffered payload. */
  release(): void {
    this.#whole = undefined;
    this.#payload = 'dropped';
  }

  #tryHead(): Http3Error | undefined {
    const type = readVarint(this.#head, 0, this.#headLength);
    if (type === TRUNCATED) return undefined;
    const length = readVarint(this.#head, varintSizeAt(this.#head, 0), this.#headLength);
    if (length === TRUNCATED) return undefined;
    this.#headLength = 0;
    const payload = this.#sink.onFrame(type, length);
    if (typeof payload === 'object') return payload;
    this.#type = type;
    this.#payload = payload;
    this.#missing = length;
    if (length > 0 || payload !== 'whole') return undefined;
    return this.#sink.onPayload(type, new Uint8Array(0));
  }

  #take(bytes: Uint8Array): Http3Error | undefined {
    this.#missing -= bytes.length;
    if (this.#payload === 'dropped') return undefined;
    const isWhole = this.#whole === undefined && this.#missing === 0;
    return this.#payload === 'pieces' || isWhole
      ? this.#sink.onPayload(this.#type, bytes)
      : this.#collect(bytes);
  }

  /** Buffers a piece of a payload. Allocates memory for received data, not for the announced length. */
  #collect(bytes: Uint8Array): Http3Error | undefined {
    const whole = (this.#whole ??= new GrowingBytes());
    whole.append(bytes);
    if (this.#missing > 0) return undefined;
    this.#whole = undefined;
    return this.#sink.onPayload(this.#type, whole.bytes);
  }
}

/** Encodes the header of a frame with a payload of that length. */
export function frameHead(type: number, length: number): Uint8Array {
  const head = new Uint8Array(varintSize(type) + varintSize(length));
  writeVarint(head, writeVarint(head, 0, type), length);
  return head;
}

/** Encodes a frame whose payload is one varint: GOAWAY, MAX_PUSH_ID, CANCEL_PUSH. */
export function varintFrame(type: number, value: number): Uint8Array {
  const size = varintSize(value);
  const frame = new Uint8Array(varintSize(type) + 1 + size);
  writeVarint(frame, writeVarint(frame, writeVarint(frame, 0, type), size), value);
  return frame;
}

/** Types of unidirectional streams (RFC 9114 §6.2, RFC 9204 §4.2). */
export const StreamType = {
  CONTROL: 0x00,
  PUSH: 0x01,
  QPACK_ENCODER: 0x02,
  QPACK_DECODER: 0x03,
} as const;

/** The integer at the beginning of a stream. */
interface FirstVarint {
  /** The integer; TRUNCATED if the stream ended before it was complete. */
  readonly value: number;
  /** All bytes that were read; the integer is the first `size` bytes. */
  readonly bytes: Uint8Array;
  readonly size: number;
}

/** Reads until the first integer of a stream is complete: its type, or that of its first frame. */
export async function readFirstVarint(link: ByteLink): Promise<FirstVarint> {
  let bytes: Uint8Array = new Uint8Array(0);
  for (;;) {
    const chunk = await link.read();
    if (chunk === undefined) return { value: TRUNCATED, bytes, size: bytes.length };
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    const value = readVarint(bytes, 0, bytes.length);
    if (value !== TRUNCATED) return { value, bytes, size: varintSizeAt(bytes, 0) };
  }
}
