import { RateLimit } from '../../net/time/rate-limit.ts';
import { connectionError, streamError, type Http2Error } from './errors.ts';
import type { HttpField } from '../fields/field.ts';
import { FrameReader, type FrameSink } from './frame-reader.ts';
import { readUint32 } from '../../collections/network-order.ts';
import {
  Flag,
  FrameType,
  GOAWAY_BYTES,
  PING_BYTES,
  PRIORITY_BYTES,
  readUint31,
  RST_STREAM_BYTES,
  WINDOW_UPDATE_BYTES,
} from './frames.ts';
import { HpackDecoder } from './hpack/decoder.ts';
import {
  CONTINUATION_LIMIT,
  HEADER_BLOCK_LIMIT,
  IDLE_FRAME_BURST,
  IDLE_FRAME_RATE,
} from './limits.ts';

/** Handles frames of valid form. An error returned by a method ends the connection. */
export interface ReceiverHost {
  /** Called when a DATA frame begins; `length` counts against both windows. */
  onDataHeader(streamId: number, length: number): Http2Error | undefined;
  onData(piece: Uint8Array): void;
  onDataEnd(endsStream: boolean): Http2Error | undefined;
  /** Called when the DATA frame had padding, which counts as read at once (RFC 9113 §6.1). */
  onPadding(): void;
  /** Called with a header list, or the error of its stream if the list exceeds the limits. */
  onHeaders(
    streamId: number,
    fields: readonly HttpField[] | Http2Error,
    endsStream: boolean,
  ): Http2Error | undefined;
  onReset(streamId: number, code: number): Http2Error | undefined;
  onSettings(payload: Uint8Array): Http2Error | undefined;
  onSettingsAck(): Http2Error | undefined;
  onPing(data: Uint8Array, isAck: boolean): void;
  onGoAway(lastStreamId: number, code: number, debug: Uint8Array): void;
  onWindowUpdate(streamId: number, increment: number): Http2Error | undefined;
  /** Whether the frames of the current turn have caused as much work as a turn allows. */
  readonly isTurnSpent: boolean;
}

/** A HEADERS frame whose block continues. */
interface OpenBlock {
  readonly streamId: number;
  readonly endsStream: boolean;
  readonly parts: Uint8Array[];
  length: number;
}

const wrongSize = (what: string): Http2Error =>
  connectionError('FRAME_SIZE_ERROR', `${what} has a wrong length`);
const misplaced = (what: string): Http2Error =>
  connectionError('PROTOCOL_ERROR', `${what} on a wrong stream`);

/**
 * The receiving side of a connection: checks the form of each frame (RFC 9113 §6), joins and decodes
 * header blocks, and limits frames without data. The host acts on the frames.
 */
export class Receiver implements FrameSink {
  readonly decoder = new HpackDecoder();
  readonly #host: ReceiverHost;
  readonly #reader: FrameReader;
  readonly #idle = new RateLimit(IDLE_FRAME_RATE, IDLE_FRAME_BURST);
  readonly #pings = new RateLimit(IDLE_FRAME_RATE, IDLE_FRAME_BURST);
  #now = 0;
  #hasSettings = false;
  #block: OpenBlock | undefined;
  /** Byte counts of the current DATA frame: its length, and the payload received so far. */
  #expected = 0;
  #delivered = 0;

  constructor(host: ReceiverHost, expectsPreface: boolean) {
    this.#host = host;
    this.#reader = new FrameReader(this, expectsPreface);
  }

  get isTurnSpent(): boolean {
    return this.#host.isTurnSpent;
  }

  /** Number of bytes of the last chunk that were read: less than its length if the turn is used up. */
  get taken(): number {
    return this.#reader.taken;
  }

  /** Counts a frame without data; returns an error if there are too many. */
  countIdle(): Http2Error | undefined {
    return this.#idle.take(this.#now) ? undefined : flooded();
  }

  /**
   * Processes received bytes; `now` is in milliseconds.
   *
   * @returns the error that ends the connection, if any.
   */
  receive(chunk: Uint8Array, now: number): Http2Error | undefined {
    this.#now = now;
    return this.#reader.receive(chunk);
  }

  onDataHeader(streamId: number, length: number): Http2Error | undefined {
    const error = this.#inOrder(FrameType.DATA, streamId);
    if (error) return error;
    if (streamId === 0) return misplaced('DATA');
    this.#expected = length;
    this.#delivered = 0;
    return this.#host.onDataHeader(streamId, length);
  }

  onData(piece: Uint8Array): void {
    this.#delivered += piece.length;
    this.#host.onData(piece);
  }

  onDataEnd(endsStream: boolean): Http2Error | undefined {
    if (this.#delivered > 0) this.#pings.giveBack();
    else if (!endsStream && !this.#idle.take(this.#now)) return flooded();
    if (this.#expected > this.#delivered) this.#host.onPadding();
    return this.#host.onDataEnd(endsStream);
  }

  onFrame(
    type: number,
    flags: number,
    streamId: number,
    payload: Uint8Array,
  ): Http2Error | undefined {
    const error = this.#inOrder(type, streamId, flags);
    if (error) return error;
    const host = this.#host;
    switch (type) {
      case FrameType.HEADERS:
        return this.#headers(flags, streamId, payload);
      case FrameType.PRIORITY:
        if (streamId === 0) return misplaced('PRIORITY');
        if (payload.length !== PRIORITY_BYTES) return wrongSize('PRIORITY');
        if (readUint31(payload, 0) === streamId) return misplaced('a dependency');
        return this.countIdle();
      case FrameType.RST_STREAM:
        if (streamId === 0) return misplaced('RST_STREAM');
        if (payload.length !== RST_STREAM_BYTES) return wrongSize('RST_STREAM');
        return host.onReset(streamId, readUint32(payload, 0));
      case FrameType.SETTINGS:
        return this.#settings(flags, streamId, payload);
      case FrameType.PUSH_PROMISE:
        return connectionError('PROTOCOL_ERROR', 'PUSH_PROMISE, which is disabled');
      case FrameType.PING:
        if (streamId !== 0) return misplaced('PING');
        if (payload.length !== PING_BYTES) return wrongSize('PING');
        host.onPing(payload, (flags & Flag.ACK) !== 0);
        return this.#pings.take(this.#now) ? undefined : flooded();
      case FrameType.GOAWAY:
        if (streamId !== 0) return misplaced('GOAWAY');
        if (payload.length < GOAWAY_BYTES) return wrongSize('GOAWAY');
        host.onGoAway(
          readUint31(payload, 0),
          readUint32(payload, 4),
          payload.subarray(GOAWAY_BYTES),
        );
        return this.countIdle();
      case FrameType.WINDOW_UPDATE:
        if (payload.length !== WINDOW_UPDATE_BYTES) return wrongSize('WINDOW_UPDATE');
        return host.onWindowUpdate(streamId, readUint31(payload, 0));
      case FrameType.CONTINUATION:
        return this.#continuation(flags, payload);
      default:
        // Unknown types are ignored (§4.1).
        return this.countIdle();
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

  #settings(flags: number, streamId: number, payload: Uint8Array): Http2Error | undefined {
    if (streamId !== 0) return misplaced('SETTINGS');
    if ((flags & Flag.ACK) === 0) return this.countIdle() ?? this.#host.onSettings(payload);
    if (payload.length > 0) return wrongSize('SETTINGS with ACK');
    return this.#host.onSettingsAck();
  }

  #headers(flags: number, streamId: number, payload: Uint8Array): Http2Error | undefined {
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
    return undefined;
  }

  #continuation(flags: number, fragment: Uint8Array): Http2Error | undefined {
    const block = this.#block;
    if (!block) return undefined; // checked before
    block.length += fragment.length;
    if (block.parts.length > CONTINUATION_LIMIT || block.length > HEADER_BLOCK_LIMIT) {
      return connectionError('ENHANCE_YOUR_CALM', 'a header block is too large');
    }
    block.parts.push(Uint8Array.from(fragment));
    if ((flags & Flag.END_HEADERS) === 0) return undefined;
    this.#block = undefined;
    const { streamId, endsStream, parts, length } = block;
    return this.#decoded(streamId, endsStream, Buffer.concat(parts, length));
  }

  #decoded(streamId: number, endsStream: boolean, block: Uint8Array): Http2Error | undefined {
    const fields = this.decoder.decode(block);
    if ('scope' in fields && fields.scope === 'connection') return fields;
    return this.#host.onHeaders(streamId, fields, endsStream);
  }
}

const flooded = (): Http2Error =>
  connectionError('ENHANCE_YOUR_CALM', 'too many frames that carry nothing');

/** Returns the error of a frame on a stream that its peer has ended (RFC 9113 §5.1). */
export const afterEnd = (): Http2Error =>
  streamError('STREAM_CLOSED', 'a frame follows the end of its stream');
