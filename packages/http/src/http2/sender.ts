import { ChurnMap } from '@weir/base/collections';
import { writeUint32 } from '@weir/base/bytes';
import type { HttpField } from '../fields/field.ts';
import {
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  GOAWAY_BYTES,
  PING_BYTES,
  PREFACE,
  RST_STREAM_BYTES,
  WINDOW_UPDATE_BYTES,
  writeFrameHeader,
  FULL_BATCH_BYTES,
  FrameBatch,
} from './frames.ts';
import { HpackEncoder } from './hpack.ts';
import { FRAME_LIMIT, REPLY_LIMIT, SEND_QUEUE_BYTES } from '../limits.ts';
import { INITIAL_WINDOW, type PeerSettings } from './settings.ts';
import type { ConnectionHandler, Http2Stream } from './stream.ts';

/** Minimum size in bytes to which a DATA frame is reduced to fit into the batch. */
const SMALLEST_FRAME = 1024;

/** The sending side of a connection: batches of frames, flow control, and round-robin scheduling of streams. */
export class Sender {
  readonly encoder = new HpackEncoder();
  readonly output = new FrameBatch();
  readonly #peer: PeerSettings;
  readonly #handler: ConnectionHandler;
  /** Whether the underlying link is still writing the last batch: DATA then waits. */
  isBlocked = false;
  /** The send window of the connection in bytes. */
  #window = INITIAL_WINDOW;
  /**
   * Streams with data to send, in round-robin order. The peer may have reduced the window of some, which is detected
   * when it is their turn.
   */
  readonly #ready = new ChurnMap<Http2Stream, true>();
  /** Streams with data to send whose window is used up. */
  readonly #starved = new Set<Http2Stream>();
  /** Whether INITIAL_WINDOW_SIZE has grown since the starved streams were last examined. */
  #hasGrown = false;
  /** An upper bound of the credit of all streams. */
  #mostCredit = 0;
  #pumping = false;
  /** Number of bytes of responses to the peer's frames in the batch. */
  #replies = 0;

  constructor(peer: PeerSettings, handler: ConnectionHandler) {
    this.#peer = peer;
    this.#handler = handler;
  }

  /** Whether queued responses to the peer's frames exceed REPLY_LIMIT. */
  get isOverrun(): boolean {
    return this.#replies > REPLY_LIMIT;
  }

  /** Returns the batch, which then belongs to the caller. */
  take(): Uint8Array<ArrayBuffer> {
    this.#replies = 0;
    return this.output.take();
  }

  preface(): void {
    const at = this.output.reserve(PREFACE.length);
    this.output.bytes.set(PREFACE, at);
  }

  settings(payload: Uint8Array): void {
    this.#frame(FrameType.SETTINGS, 0, 0, payload);
  }

  settingsAck(): void {
    this.#replies += FRAME_HEADER_BYTES;
    this.#begin(FrameType.SETTINGS, Flag.ACK, 0, 0);
  }

  /**
   * Sends a PING.
   *
   * @param data eight octets.
   */
  ping(data: Uint8Array, isAck: boolean): void {
    if (isAck) this.#replies += FRAME_HEADER_BYTES + PING_BYTES;
    this.#frame(FrameType.PING, isAck ? Flag.ACK : 0, 0, data);
  }

  goAway(lastStreamId: number, code: number, debug: string): void {
    const at = this.#begin(FrameType.GOAWAY, 0, 0, GOAWAY_BYTES + debug.length);
    const { bytes } = this.output;
    writeUint32(bytes, at, lastStreamId);
    writeUint32(bytes, at + 4, code);
    for (let i = 0; i < debug.length; i++) bytes[at + GOAWAY_BYTES + i] = debug.charCodeAt(i);
  }

  reset(streamId: number, code: number): void {
    this.#replies += FRAME_HEADER_BYTES + RST_STREAM_BYTES;
    const at = this.#begin(FrameType.RST_STREAM, 0, streamId, RST_STREAM_BYTES);
    writeUint32(this.output.bytes, at, code);
  }

  windowUpdate(streamId: number, increment: number): void {
    const at = this.#begin(FrameType.WINDOW_UPDATE, 0, streamId, WINDOW_UPDATE_BYTES);
    writeUint32(this.output.bytes, at, increment);
  }

  /** Sends a header list as HEADERS, with CONTINUATION frames if needed. */
  headers(streamId: number, fields: readonly HttpField[], endsStream: boolean): void {
    const block = this.encoder.encode(fields);
    let type: number = FrameType.HEADERS;
    let flags: number = endsStream ? Flag.END_STREAM : 0;
    let at = 0;
    do {
      const part = block.subarray(at, at + FRAME_LIMIT);
      at += part.length;
      this.#frame(type, at === block.length ? flags | Flag.END_HEADERS : flags, streamId, part);
      type = FrameType.CONTINUATION;
      flags = 0;
    } while (at < block.length);
  }

  /** Called when data or the end of a stream was queued. */
  offer(stream: Http2Stream): void {
    this.#schedule(stream);
    this.pump();
    if (stream.queue.length >= SEND_QUEUE_BYTES) stream.isWriterWaiting = true;
  }

  /** Removes a stream that has ended. */
  forget(stream: Http2Stream): void {
    this.#ready.delete(stream);
    this.#starved.delete(stream);
    stream.queue.clear();
  }

  /** Adds to the window of the connection; returns false if it would exceed `limit`. */
  widen(increment: number, limit: number): boolean {
    if (this.#window + increment > limit) return false;
    this.#window += increment;
    return true;
  }

  /** Adds to the window of a stream; returns false if it would exceed `limit`. */
  widenStream(stream: Http2Stream, increment: number, limit: number): boolean {
    stream.sendCredit += increment;
    if (stream.sendCredit > this.#mostCredit) this.#mostCredit = stream.sendCredit;
    if (this.#peer.initialWindowSize + stream.sendCredit > limit) return false;
    this.#schedule(stream);
    return true;
  }

  /**
   * Called when the peer has changed INITIAL_WINDOW_SIZE, which changes the window of every stream (RFC 9113 §6.9.2).
   * The credit of a stream is relative to INITIAL_WINDOW_SIZE, so most streams need no update: only streams that wait
   * for a window are examined, once before the next frames are sent, however often the setting changes.
   *
   * @param open the open streams, examined only if the window of a stream may exceed `limit`.
   * @returns the number of examined streams, or `undefined` if a window is too large.
   */
  resize(before: number, open: Iterable<Http2Stream>, limit: number): number | undefined {
    const size = this.#peer.initialWindowSize;
    if (size <= before) return 0;
    this.#hasGrown = true;
    const looks = this.#starved.size;
    if (size + this.#mostCredit <= limit) return looks;
    // The bound may come from a stream that has ended, or has sent data since.
    let most = 0;
    let count = 0;
    for (const { sendCredit } of open) {
      most = Math.max(most, sendCredit);
      count++;
    }
    this.#mostCredit = most;
    return size + most > limit ? undefined : looks + count;
  }

  /** Moves data that may be sent to the batch, one DATA frame per stream in turn. */
  pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      if (this.#hasGrown && !this.isBlocked) this.#wake();
      while (!this.isBlocked) {
        const stream = this.#ready.keys().next().value;
        if (stream === undefined) break;
        if (stream.queue.length === 0) {
          this.#ready.delete(stream);
          this.#end(stream);
          continue;
        }
        if (this.#window <= 0) break;
        if (this.#windowOf(stream) <= 0) {
          this.#schedule(stream);
          continue;
        }
        this.#data(stream);
        if (this.output.length >= FULL_BATCH_BYTES) this.#handler.onFullBatch();
      }
    } finally {
      this.#pumping = false;
    }
  }

  /** Schedules starved streams whose window has become available. */
  #wake(): void {
    this.#hasGrown = false;
    for (const stream of this.#starved) {
      if (this.#windowOf(stream) > 0) this.#schedule(stream);
    }
  }

  #windowOf(stream: Http2Stream): number {
    return this.#peer.initialWindowSize + stream.sendCredit;
  }

  #schedule(stream: Http2Stream): void {
    if (stream.localEnded) return;
    const hasData = stream.queue.length > 0;
    const isStarved = hasData && this.#windowOf(stream) <= 0;
    if (isStarved) this.#starved.add(stream);
    else this.#starved.delete(stream);
    if (hasData ? !isStarved : stream.queue.isEnded) this.#ready.set(stream, true);
    else this.#ready.delete(stream);
  }

  #data(stream: Http2Stream): void {
    const { queue } = stream;
    const window = Math.min(this.#window, this.#windowOf(stream));
    const room = Math.max(SMALLEST_FRAME, this.output.room - FRAME_HEADER_BYTES);
    const length = Math.min(queue.length, window, FRAME_LIMIT, room);
    const isLast = length === queue.length && queue.isEnded && !queue.trailers;
    const at = this.#begin(FrameType.DATA, isLast ? Flag.END_STREAM : 0, stream.id, length);
    queue.copyTo(this.output.bytes, at, length);
    this.#window -= length;
    stream.sendCredit -= length;
    this.#ready.delete(stream);
    if (isLast) stream.onEndSent();
    else this.#schedule(stream);
    if (stream.isWriterWaiting && queue.length < SEND_QUEUE_BYTES) {
      stream.isWriterWaiting = false;
      stream.handler?.onWritable();
    }
  }

  #end(stream: Http2Stream): void {
    const { trailers } = stream.queue;
    if (trailers) this.headers(stream.id, trailers, true);
    else this.#begin(FrameType.DATA, Flag.END_STREAM, stream.id, 0);
    stream.onEndSent();
  }

  #frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    const at = this.#begin(type, flags, streamId, payload.length);
    this.output.bytes.set(payload, at);
  }

  /** Writes the header of a frame. Returns the offset of its payload. */
  #begin(type: number, flags: number, streamId: number, length: number): number {
    const at = this.output.reserve(FRAME_HEADER_BYTES + length);
    return writeFrameHeader(this.output.bytes, at, length, type, flags, streamId);
  }
}
