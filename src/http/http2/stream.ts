import { freeChunk } from '../../net/links/spent-chunk.ts';
import type { Http2Error } from './errors.ts';
import type { HttpField } from '../fields/field.ts';
import { Received } from './received.ts';
import { SendQueue } from './send-queue.ts';
import { INITIAL_STATE, type StreamState } from './stream-state.ts';

/** How a stream ended without both sides having ended it. */
export interface StreamEnd {
  /** The peer reset the stream or did not process it, this side reset it, or the connection is over. */
  readonly by: 'peer' | 'self' | 'connection';
  /** An error code of HTTP/2. */
  readonly code: number;
  /** The rule that the peer broke, or why the connection is over. */
  readonly cause?: Http2Error | Error | undefined;
}

/**
 * The user of a stream. Called within calls of the connection; a handler may call the stream again, and
 * must not throw.
 */
export interface StreamHandler {
  /** The final response of a request. */
  onResponse(status: number, fields: readonly HttpField[]): void;
  onTrailers(fields: readonly HttpField[]): void;
  /** Bytes can be taken, or END_STREAM was received. */
  onReadable(): void;
  /** The queue has room again. */
  onWritable(): void;
  /** END_STREAM was sent, after everything before it. */
  onEndSent(): void;
  /** The stream was ended by a reset, or with its connection; nothing follows. */
  onAbort(end: StreamEnd): void;
}

/** The connection of a stream. */
export interface Http2StreamHost {
  /** Data or the end of this side was queued. */
  write(stream: Http2Stream): void;
  respond(stream: Http2Stream, fields: readonly HttpField[], isLast: boolean): void;
  reset(stream: Http2Stream, code: number): void;
  /** Received bytes were taken: the window may be opened. */
  consumed(stream: Http2Stream): void;
  /** `serve` was called. */
  served(): void;
}

const NO_PIECES: readonly Uint8Array[] = [];

/** One request and its response: the state that its connection keeps, and the calls of its user. */
export class Http2Stream {
  readonly id: number;
  handler: StreamHandler | undefined;
  /** @internal of the connection, as are all fields below. */
  state: StreamState = INITIAL_STATE;
  readonly received = new Received();
  readonly queue = new SendQueue();
  /** Windows, relative to INITIAL_WINDOW_SIZE of the side that receives. */
  receiveCredit = 0;
  sendCredit = 0;
  /** Interim responses received. */
  interim = 0;
  /** Whether a writer was told to wait for `onWritable`. */
  isWriterWaiting = false;
  /** Whether the user serves it, see `serve`. */
  isServed = false;
  /** Whether it is among the streams whose readers are called at the end of this receive. */
  isTouched = false;
  readonly #host: Http2StreamHost;

  constructor(host: Http2StreamHost, id: number) {
    this.#host = host;
    this.id = id;
  }

  /** Whether it has ended, cleanly or not. */
  get isClosed(): boolean {
    return this.state.kind === 'closed';
  }

  /** Whether this side has sent END_STREAM, or the stream is closed. */
  get localEnded(): boolean {
    const { kind } = this.state;
    return kind === 'half-closed (local)' || kind === 'closed';
  }

  /** Whether END_STREAM of the peer was received; false for a stream that was reset before that. */
  get remoteEnded(): boolean {
    return this.state.received === 'all';
  }

  /** Received bytes that were not taken yet. */
  get readable(): number {
    return this.received.length;
  }

  /** Bytes waiting to be sent. */
  get queued(): number {
    return this.queue.length;
  }

  /** Whether more can be queued. */
  get isWritable(): boolean {
    return !this.localEnded && !this.queue.isEnded;
  }

  /**
   * The request of a client was found to be legitimate: its client has authenticated. From then on a
   * reset does not count against the client, and its connection may have more streams that are reset
   * before that.
   */
  serve(): void {
    if (this.isServed) return;
    this.isServed = true;
    this.#host.served();
  }

  /** Sends the headers of a response; `isLast` also ends it. */
  respond(fields: readonly HttpField[], isLast: boolean): void {
    if (!this.localEnded) this.#host.respond(this, fields, isLast);
  }

  /**
   * Queues a chunk, which must not be changed any more; drops it unless `isWritable`.
   * @param isOwned whether its memory may be freed once it is sent.
   */
  push(chunk: Uint8Array, isOwned: boolean): void {
    if (this.isWritable) this.queue.push(chunk, isOwned);
    else if (isOwned) freeChunk(chunk);
  }

  /**
   * Sends what was queued as far as windows allow. Returns false when the writer must wait for
   * `onWritable`, and `undefined` when the stream accepts no more data.
   */
  flush(): boolean | undefined {
    if (!this.isWritable) return undefined;
    this.#host.write(this);
    return !this.isWriterWaiting;
  }

  /** Ends this side after what is queued, with trailers if there are any. */
  end(trailers?: readonly HttpField[]): void {
    if (!this.isWritable) return;
    this.queue.end(trailers);
    this.#host.write(this);
  }

  /** Resets the stream, unless it is closed; what is queued is dropped. */
  reset(code: number): void {
    this.received.clear();
    if (!this.isClosed) this.#host.reset(this, code);
  }

  /** Takes up to `limit` received bytes, to be used or copied before the caller returns. */
  take(limit: number): readonly Uint8Array[] {
    if (this.received.length === 0) return NO_PIECES;
    const pieces = this.received.take(limit);
    this.#host.consumed(this);
    return pieces;
  }
}
