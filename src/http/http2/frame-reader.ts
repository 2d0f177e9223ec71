import { connectionError, type Http2Error } from './errors.ts';
import { Flag, FRAME_HEADER_BYTES, FrameType, PREFACE, readUint31 } from './frames.ts';
import { FRAME_LIMIT } from './limits.ts';

/** Receives the frames of a connection. An error returned by a method ends the connection. */
export interface FrameSink {
  /** Called when a DATA frame begins; `length` is that of its payload, padding included. */
  onDataHeader(streamId: number, length: number, hasPadding: boolean): Http2Error | undefined;
  /** Called with a piece of DATA payload without padding: a view of the received chunk. */
  onData(piece: Uint8Array): void;
  onDataEnd(endsStream: boolean): Http2Error | undefined;
  /** Called with any other frame, complete. The payload must not be used after the call. */
  onFrame(
    type: number,
    flags: number,
    streamId: number,
    payload: Uint8Array,
  ): Http2Error | undefined;
  /** Whether the next frame has to wait for another turn of the event loop. */
  readonly isTurnSpent: boolean;
}

const EMPTY = new Uint8Array(0);

/**
 * Splits received bytes into frames (RFC 9113 §4.1). The payload of DATA is delivered as it arrives, as views of the
 * chunks; other frames are buffered until complete, up to FRAME_LIMIT bytes.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  /** Number of missing octets of the client's preface. */
  #preface: number;
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  #headerLength = 0;
  /** Whether a frame has begun; then its header, and the number of missing octets. */
  #inFrame = false;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  #left = 0;
  /** The received octets of an incomplete frame other than DATA. */
  #held = EMPTY;
  #heldLength = 0;
  #taken = 0;
  /** Number of padding octets at the end of a DATA frame; `undefined` until it was read. */
  #padding: number | undefined = 0;

  constructor(sink: FrameSink, expectsPreface: boolean) {
    this.#sink = sink;
    this.#preface = expectsPreface ? PREFACE.length : 0;
  }

  /** Number of bytes of the last chunk that were read: less than its length if the turn is used up. */
  get taken(): number {
    return this.#taken;
  }

  /** Reads the next bytes. Must not be called again after an error. */
  receive(chunk: Uint8Array): Http2Error | undefined {
    let at = 0;
    this.#taken = chunk.length;
    while (this.#preface > 0 && at < chunk.length) {
      if (chunk[at++] !== PREFACE[PREFACE.length - this.#preface--]) {
        return connectionError('PROTOCOL_ERROR', 'the client does not begin with the preface');
      }
    }
    while (at < chunk.length || (this.#inFrame && this.#left === 0)) {
      if (!this.#inFrame) {
        if (this.#sink.isTurnSpent) {
          this.#taken = at;
          return undefined;
        }
        at = this.#takeHeader(chunk, at);
        if (this.#headerLength < FRAME_HEADER_BYTES) return undefined;
        const error = this.#begin();
        if (error) return error;
        continue;
      }
      const count = Math.min(this.#left, chunk.length - at);
      const error =
        this.#type === FrameType.DATA
          ? this.#takeData(chunk, at, count)
          : this.#takeOther(chunk, at, count);
      if (error) return error;
      at += count;
    }
    return undefined;
  }

  #takeHeader(chunk: Uint8Array, offset: number): number {
    let at = offset;
    while (this.#headerLength < FRAME_HEADER_BYTES && at < chunk.length) {
      this.#header[this.#headerLength++] = chunk[at++] as number; // below the length
    }
    return at;
  }

  #begin(): Http2Error | undefined {
    const header = this.#header;
    this.#headerLength = 0;
    const length = ((header[0] ?? 0) << 16) | ((header[1] ?? 0) << 8) | (header[2] ?? 0);
    this.#type = header[3] ?? 0;
    this.#flags = header[4] ?? 0;
    this.#streamId = readUint31(header, 5);
    if (length > FRAME_LIMIT) {
      return connectionError('FRAME_SIZE_ERROR', 'a frame is longer than MAX_FRAME_SIZE');
    }
    this.#inFrame = true;
    this.#left = length;
    if (this.#type !== FrameType.DATA) return undefined;
    const hasPadding = (this.#flags & Flag.PADDED) !== 0;
    if (hasPadding && length === 0) {
      return connectionError('FRAME_SIZE_ERROR', 'a padded frame has no length of its padding');
    }
    this.#padding = hasPadding ? undefined : 0;
    return this.#sink.onDataHeader(this.#streamId, length, hasPadding);
  }

  #takeData(chunk: Uint8Array, offset: number, length: number): Http2Error | undefined {
    let at = offset;
    const end = offset + length;
    if (this.#padding === undefined) {
      this.#padding = chunk[at++] as number; // below the length
      this.#left--;
      if (this.#padding > this.#left) {
        return connectionError('PROTOCOL_ERROR', 'the padding is longer than the frame');
      }
    }
    const payload = Math.min(end - at, this.#left - this.#padding);
    if (payload > 0) this.#sink.onData(chunk.subarray(at, at + payload));
    this.#left -= end - at;
    if (this.#left > 0) return undefined;
    this.#inFrame = false;
    return this.#sink.onDataEnd((this.#flags & Flag.END_STREAM) !== 0);
  }

  #takeOther(chunk: Uint8Array, offset: number, length: number): Http2Error | undefined {
    if (length === this.#left && this.#heldLength === 0) {
      return this.#pass(chunk.subarray(offset, offset + length));
    }
    if (this.#heldLength === 0) this.#held = new Uint8Array(this.#left);
    this.#held.set(chunk.subarray(offset, offset + length), this.#heldLength);
    this.#heldLength += length;
    this.#left -= length;
    if (this.#left > 0) return undefined;
    const payload = this.#held;
    this.#held = EMPTY;
    this.#heldLength = 0;
    return this.#pass(payload);
  }

  #pass(payload: Uint8Array): Http2Error | undefined {
    this.#inFrame = false;
    this.#left = 0;
    return this.#sink.onFrame(this.#type, this.#flags, this.#streamId, payload);
  }
}
