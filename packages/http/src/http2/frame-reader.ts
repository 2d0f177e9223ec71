import { readUint32 } from '@weir/base/bytes';
import type { HttpField } from '../fields/field.ts';
import { CONTINUATION_LIMIT, FRAME_LIMIT, HEADER_BLOCK_LIMIT } from '../limits.ts';
import { connectionError, type Http2Error } from './errors.ts';
import {
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  GOAWAY_BYTES,
  PING_BYTES,
  PREFACE,
  PRIORITY_BYTES,
  readUint31,
  RST_STREAM_BYTES,
  WINDOW_UPDATE_BYTES,
} from './frames.ts';
import { HpackDecoder } from './hpack.ts';
import type { WorkLimits } from './work-limits.ts';

/** The kind of part that `FrameReader.next` has read, whose contents are fields of the reader. */
export type FrameRead =
  /** A DATA frame begins on `streamId`; `length` counts against both windows. */
  | 'data begins'
  /** `payload` is a piece of DATA without padding: a view of the received chunk. */
  | 'data'
  /** The DATA frame ends: `endsStream`. With `hasPadding`, its padding counts as read at once (RFC 9113 §6.1). */
  | 'data ends'
  /** `fields` on `streamId` are a header list, or the error of its stream if it exceeds the limits: `endsStream`. */
  | 'headers'
  /** RST_STREAM on `streamId` with the error code `value`. */
  | 'reset'
  /** SETTINGS with `payload`. */
  | 'settings'
  | 'settings acknowledged'
  /** PING with the data `payload`, or its acknowledgement: `isAck`. */
  | 'ping'
  /** GOAWAY with `payload`. */
  | 'go away'
  /** WINDOW_UPDATE of `streamId` by `value`. */
  | 'window update'
  /** A frame that needs no action, or a part of a header block. */
  | 'nothing';

/** A violation ends the connection. */
type Read = FrameRead | Http2Error;

/** A HEADERS frame whose block continues. */
interface OpenBlock {
  readonly streamId: number;
  readonly endsStream: boolean;
  readonly parts: Uint8Array[];
  length: number;
}

const EMPTY: Uint8Array = new Uint8Array(0);
const NO_FIELDS: readonly HttpField[] = [];

const wrongSize = (what: string): Http2Error =>
  connectionError('FRAME_SIZE_ERROR', `${what} has a wrong length`);
const misplaced = (what: string): Http2Error =>
  connectionError('PROTOCOL_ERROR', `${what} on a wrong stream`);

/**
 * Reads frames (RFC 9113 §4.1): checks the form of each (§6), joins and decodes header blocks, and limits frames
 * without data. DATA is returned as it arrives, in views of the chunk; other frames are buffered until complete, up to
 * FRAME_LIMIT bytes.
 *
 *     reader.push(chunk);
 *     for (let read = reader.next(); read !== undefined; read = reader.next()) {
 *       if (typeof read !== 'string') return read; // an error: nothing more can be read
 *     }
 */
export class FrameReader {
  /** The parts of what was read. They change with the next call, after which `payload` must not be used. */
  streamId = 0;
  length = 0;
  payload = EMPTY;
  fields: readonly HttpField[] | Http2Error = NO_FIELDS;
  value = 0;
  endsStream = false;
  hasPadding = false;
  isAck = false;
  readonly #limits: WorkLimits;
  readonly #decoder = new HpackDecoder();
  #chunk = EMPTY;
  /** Number of bytes of the chunk that were read. */
  #at = 0;
  /** Number of missing octets of the client's preface. */
  #preface: number;
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  #headerLength = 0;
  /** Whether a frame has begun; then its header, and the number of missing octets. */
  #inFrame = false;
  #type = 0;
  #flags = 0;
  #left = 0;
  /** The received octets of an incomplete frame other than DATA. */
  #held = EMPTY;
  #heldLength = 0;
  /** Number of padding octets at the end of a DATA frame; `undefined` until it was read. */
  #padding: number | undefined = 0;
  /** Number of bytes of the DATA frame that were returned. */
  #delivered = 0;
  #hasSettings = false;
  #block: OpenBlock | undefined;

  constructor(limits: WorkLimits, expectsPreface: boolean) {
    this.#limits = limits;
    this.#preface = expectsPreface ? PREFACE.length : 0;
  }

  /** Whether the rest of the chunk begins between two frames, where reading may pause. */
  get isBetweenFrames(): boolean {
    return !this.#inFrame && this.#at < this.#chunk.length;
  }

  /** Passes the next bytes, which are read by `next`. */
  push(chunk: Uint8Array): void {
    this.#chunk = chunk;
    this.#at = 0;
  }

  /** Drops the chunk, and what was read of it. @returns the number of bytes that were read. */
  release(): number {
    this.#chunk = EMPTY;
    this.payload = EMPTY;
    this.fields = NO_FIELDS;
    return this.#at;
  }

  /** Reads on; `undefined` at the end of the chunk. */
  next(): Read | undefined {
    if (!this.#inFrame) {
      const chunk = this.#chunk;
      while (this.#preface > 0 && this.#at < chunk.length) {
        if (chunk[this.#at++] !== PREFACE[PREFACE.length - this.#preface--]) {
          return connectionError('PROTOCOL_ERROR', 'the client does not begin with the preface');
        }
      }
      while (this.#headerLength < FRAME_HEADER_BYTES && this.#at < chunk.length) {
        this.#header[this.#headerLength++] = chunk[this.#at++] as number; // below the length
      }
      if (this.#headerLength < FRAME_HEADER_BYTES) return undefined;
      const error = this.#begin();
      if (error) return error;
      if (this.#type === FrameType.DATA) return this.#beginData();
    }
    return this.#type === FrameType.DATA ? this.#takeData() : this.#takeOther();
  }

  #begin(): Http2Error | undefined {
    const header = this.#header;
    this.#headerLength = 0;
    const length = ((header[0] ?? 0) << 16) | ((header[1] ?? 0) << 8) | (header[2] ?? 0);
    this.#type = header[3] ?? 0;
    this.#flags = header[4] ?? 0;
    this.streamId = readUint31(header, 5);
    if (length > FRAME_LIMIT) {
      return connectionError('FRAME_SIZE_ERROR', 'a frame is longer than MAX_FRAME_SIZE');
    }
    this.#inFrame = true;
    this.#left = length;
    return undefined;
  }

  #beginData(): Read {
    const length = this.#left;
    const hasPadding = (this.#flags & Flag.PADDED) !== 0;
    if (hasPadding && length === 0) {
      return connectionError('FRAME_SIZE_ERROR', 'a padded frame has no length of its padding');
    }
    this.#padding = hasPadding ? undefined : 0;
    const error = this.#inOrder(FrameType.DATA, this.streamId);
    if (error) return error;
    if (this.streamId === 0) return misplaced('DATA');
    this.length = length;
    this.#delivered = 0;
    return 'data begins';
  }

  #takeData(): Read | undefined {
    const chunk = this.#chunk;
    if (this.#padding === undefined) {
      if (this.#at === chunk.length) return undefined;
      this.#padding = chunk[this.#at++] as number; // below the length
      this.#left--;
      if (this.#padding > this.#left) {
        return connectionError('PROTOCOL_ERROR', 'the padding is longer than the frame');
      }
    }
    const at = this.#at;
    const count = Math.min(this.#left, chunk.length - at);
    const size = Math.min(count, this.#left - this.#padding);
    this.#at += count;
    this.#left -= count;
    if (size > 0) {
      this.#delivered += size;
      this.payload = chunk.subarray(at, at + size);
      return 'data';
    }
    if (this.#left > 0) return undefined;
    this.#inFrame = false;
    this.endsStream = (this.#flags & Flag.END_STREAM) !== 0;
    this.hasPadding = this.length > this.#delivered;
    if (this.#delivered > 0) this.#limits.countData();
    else if (!this.endsStream) return this.#limits.countIdle() ?? 'data ends';
    return 'data ends';
  }

  #takeOther(): Read | undefined {
    const at = this.#at;
    const count = Math.min(this.#left, this.#chunk.length - at);
    this.#at += count;
    let payload: Uint8Array;
    if (count === this.#left && this.#heldLength === 0) {
      payload = this.#chunk.subarray(at, at + count);
    } else {
      if (this.#heldLength === 0) this.#held = new Uint8Array(this.#left);
      this.#held.set(this.#chunk.subarray(at, at + count), this.#heldLength);
      this.#heldLength += count;
      this.#left -= count;
      if (this.#left > 0) return undefined;
      payload = this.#held;
      this.#held = EMPTY;
      this.#heldLength = 0;
    }
    this.#inFrame = false;
    this.#left = 0;
    return this.#frame(this.#type, this.#flags, this.streamId, payload);
  }

  /** Checks a complete frame other than DATA. */
  #frame(type: number, flags: number, streamId: number, payload: Uint8Array): Read {
    const error = this.#inOrder(type, streamId, flags);
    if (error) return error;
    this.payload = payload;
    switch (type) {
      case FrameType.HEADERS:
        return this.#headers(flags, streamId, payload);
      case FrameType.PRIORITY:
        if (streamId === 0) return misplaced('PRIORITY');
        if (payload.length !== PRIORITY_BYTES) return wrongSize('PRIORITY');
        if (readUint31(payload, 0) === streamId) return misplaced('a dependency');
        return this.#limits.countIdle() ?? 'nothing';
      case FrameType.RST_STREAM:
        if (streamId === 0) return misplaced('RST_STREAM');
        if (payload.length !== RST_STREAM_BYTES) return wrongSize('RST_STREAM');
        this.value = readUint32(payload, 0);
        return 'reset';
      case FrameType.SETTINGS:
        if (streamId !== 0) return misplaced('SETTINGS');
        if ((flags & Flag.ACK) === 0) return this.#limits.countIdle() ?? 'settings';
        return payload.length > 0 ? wrongSize('SETTINGS with ACK') : 'settings acknowledged';
      case FrameType.PUSH_PROMISE:
        return connectionError('PROTOCOL_ERROR', 'PUSH_PROMISE, which is disabled');
      case FrameType.PING:
        if (streamId !== 0) return misplaced('PING');
        if (payload.length !== PING_BYTES) return wrongSize('PING');
        this.isAck = (flags & Flag.ACK) !== 0;
        return 'ping';
      case FrameType.GOAWAY:
        if (streamId !== 0) return misplaced('GOAWAY');
        return payload.length < GOAWAY_BYTES ? wrongSize('GOAWAY') : 'go away';
      case FrameType.WINDOW_UPDATE:
        if (payload.length !== WINDOW_UPDATE_BYTES) return wrongSize('WINDOW_UPDATE');
        this.value = readUint31(payload, 0);
        return 'window update';
      case FrameType.CONTINUATION:
        return this.#continuation(flags, payload);
      default:
        // Unknown types are ignored (§4.1).
        return this.#limits.countIdle() ?? 'nothing';
    }
  }

  /**
   * Checks the order of frames: SETTINGS comes first (RFC 9113 §3.4), and no frame may interrupt a header block (§4.3).
   */
  #inOrder(type: number, streamId: number, flags = 0): Http2Error | undefined {
    if (!this.#hasSettings) {
      if (type !== FrameType.SETTINGS || (flags & Flag.ACK) !== 0) {
        return connectionError('PROTOCOL_ERROR', 'the first frame is not SETTINGS');
      }
      this.#hasSettings = true;
    }
    const continues = type === FrameType.CONTINUATION;
    if (this.#block === undefined ? continues : !continues || streamId !== this.#block.streamId) {
      return connectionError(
        'PROTOCOL_ERROR',
        'a header block is interrupted, or has no beginning',
      );
    }
    return undefined;
  }

  #headers(flags: number, streamId: number, payload: Uint8Array): Read {
    if (streamId === 0) return misplaced('HEADERS');
    let at = 0;
    let padding = 0;
    if (flags & Flag.PADDED) {
      if (payload.length === 0) return wrongSize('HEADERS');
      padding = payload[at++] as number; // checked above
    }
    if (flags & Flag.PRIORITY) {
      if (payload.length - at < PRIORITY_BYTES) return wrongSize('HEADERS');
      const dependsOn = readUint31(payload, at);
      if (dependsOn === streamId) return misplaced('a dependency');
      at += PRIORITY_BYTES;
    }
    if (padding > payload.length - at) {
      return connectionError('PROTOCOL_ERROR', 'the padding is longer than the frame');
    }
    const fragment = payload.subarray(at, payload.length - padding);
    const endsStream = (flags & Flag.END_STREAM) !== 0;
    if (flags & Flag.END_HEADERS) return this.#decoded(streamId, endsStream, fragment);
    const parts = [Uint8Array.from(fragment)];
    this.#block = { streamId, endsStream, parts, length: fragment.length };
    return 'nothing';
  }

  #continuation(flags: number, fragment: Uint8Array): Read {
    const block = this.#block;
    if (!block) return 'nothing'; // checked before
    block.length += fragment.length;
    if (block.parts.length > CONTINUATION_LIMIT || block.length > HEADER_BLOCK_LIMIT) {
      return connectionError('ENHANCE_YOUR_CALM', 'a header block is too large');
    }
    block.parts.push(Uint8Array.from(fragment));
    if ((flags & Flag.END_HEADERS) === 0) return 'nothing';
    this.#block = undefined;
    const { streamId, endsStream, parts, length } = block;
    return this.#decoded(streamId, endsStream, Buffer.concat(parts, length));
  }

  #decoded(streamId: number, endsStream: boolean, block: Uint8Array): Read {
    const fields = this.#decoder.decode(block);
    if ('scope' in fields && fields.scope === 'connection') return fields;
    this.streamId = streamId;
    this.endsStream = endsStream;
    this.fields = fields;
    return 'headers';
  }
}
