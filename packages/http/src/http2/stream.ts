import { freeChunk } from '@weir/io/links';
import type { Http2Error } from './errors.ts';
import type { HttpField } from '../fields/field.ts';
import { Received, SendQueue } from './stream-buffers.ts';

/**
 * The states of a stream (RFC 9113 §5.1, figure 2). Streams that are idle are not kept, and none are
 * reserved, since pushes are disabled:
 *
 *                        HEADERS sent or received
 *                                   |
 *                                 open
 *                END_STREAM sent /     \ END_STREAM received
 *              half-closed (local)     half-closed (remote)
 *            END_STREAM received \     / END_STREAM sent
 *                                closed
 *
 * RST_STREAM, and the end of the connection, close a stream in any state.
 */
type StreamState = 'open' | 'half-closed (local)' | 'half-closed (remote)' | 'closed';

/** The abnormal end of a stream. */
export interface StreamEnd {
  /**
   * The originator: the peer reset the stream or did not process it, this side reset it, or the connection has ended.
   */
  readonly by: 'peer' | 'self' | 'connection';
  /** The error code of HTTP/2. */
  readonly code: number;
  /** The violation by the peer, or the reason why the connection has ended. */
  readonly cause?: Http2Error | Error | undefined;
}

/**
 * The user of a stream. Its methods are called synchronously by the connection; they may call the stream, and must not
 * throw.
 */
export interface StreamHandler {
  /** Called with the final response of a request. */
  onResponse(status: number, fields: readonly HttpField[]): void;
  onTrailers(fields: readonly HttpField[]): void;
  /** Called when bytes can be taken, or END_STREAM was received. */
  onReadable(): void;
  /** Called when the queue has room again. */
  onWritable(): void;
  /** Called when END_STREAM was sent, after all data. */
  onEndSent(): void;
  /** Called when the stream was reset, or has ended with its connection; no other call follows. */
  onAbort(end: StreamEnd): void;
}

/** The user of a connection. Its methods are called synchronously by the connection, and must not throw. */
export interface ConnectionHandler {
  /** Called when there is output, which may be delayed until the end of the turn, to be sent with more. */
  onOutput(): void;
  /** Called when a batch is full: it should be taken at once, unless the underlying link is blocked. */
  onFullBatch(): void;
  /** Called for a client's request. The stream must have a handler, or be reset, when the call returns. */
  onRequest(stream: Http2Stream, fields: readonly HttpField[]): void;
  /** Called when SETTINGS of the peer were received and applied. */
  onPeerSettings(): void;
  /** Called when the peer, or this side, accepts no more streams; open streams continue. */
  onGoAway(): void;
  /**
   * Called when a GOAWAY of the peer leaves requests unprocessed.
   *
   * @param streams each must be passed to `refuse`, immediately or in later turns of the event loop, since there may be
   * thousands.
   */
  onRefused(streams: readonly Http2Stream[], refuse: (stream: Http2Stream) => void): void;
  /** Called when a stream has ended. */
  onStreamEnd(): void;
  /**
   * Called when the connection has ended, with the `error`, if any.
   *
   * @param streams the streams that were open: each must be passed to `abort`, immediately or in later turns of the
   * event loop, since there may be thousands. Until then a stream delivers no data, and what is sent on it is lost.
   */
  onEnd(
    error: Error | Http2Error | undefined,
    streams: readonly Http2Stream[],
    abort: (stream: Http2Stream) => void,
  ): void;
}

/** The connection of a stream, as seen by the stream. */
export interface Http2StreamHost {
  /** Called when data or the end of this side was queued. */
  write(stream: Http2Stream): void;
  respond(stream: Http2Stream, fields: readonly HttpField[], isLast: boolean): void;
  reset(stream: Http2Stream, code: number): void;
  /** Called when received bytes were taken: the window may be replenished. */
  consumed(stream: Http2Stream): void;
  /** Called when the user has called `serve`. */
  served(): void;
  /** Called when the stream has ended. */
  closed(stream: Http2Stream): void;
}

const NO_PIECES: readonly Uint8Array[] = [];

/** One request and its response: the state that the connection maintains, and the methods for its user. */
export class Http2Stream {
  readonly id: number;
  handler: StreamHandler | undefined;
  /** @internal for the connection, as are all fields below. */
  state: StreamState = 'open';
  /** The part of the peer's message that has come (§8.1): the head of a request or of a final response, or all of it. */
  arrived: 'nothing' | 'head' | 'all' = 'nothing';
  readonly received = new Received();
  readonly queue = new SendQueue();
  /** Windows in bytes, relative to INITIAL_WINDOW_SIZE of the receiving side. */
  receiveCredit = 0;
  sendCredit = 0;
  /** Number of interim responses received. */
  interim = 0;
  /** Whether a writer waits for `onWritable`. */
  isWriterWaiting = false;
  /** Whether the user serves the stream; see `serve`. */
  isServed = false;
  /** Whether the stream's reader is called at the end of the current receive call. */
  isTouched = false;
  readonly #host: Http2StreamHost;

  constructor(host: Http2StreamHost, id: number) {
    this.#host = host;
    this.id = id;
  }

  /** Whether the stream has ended, normally or not. */
  get isClosed(): boolean {
    return this.state === 'closed';
  }

  /** Whether this side has sent END_STREAM, or the stream is closed. */
  get localEnded(): boolean {
    return this.state === 'half-closed (local)' || this.state === 'closed';
  }

  /** Whether the peer's END_STREAM was received; false for a stream that was reset before. */
  get remoteEnded(): boolean {
    return this.arrived === 'all';
  }

  /** Number of received bytes that were not taken yet. */
  get readable(): number {
    return this.received.length;
  }

  /** Number of bytes waiting to be sent. */
  get queued(): number {
    return this.queue.length;
  }

  /** Whether the stream accepts more data. */
  get isWritable(): boolean {
    return !this.localEnded && !this.queue.isEnded;
  }

  /**
   * Marks the request as legitimate, when its client has authenticated. A reset of the stream then does not count
   * against the client, and its connection may have more streams that are reset before they are served.
   */
  serve(): void {
    if (this.isServed) return;
    this.isServed = true;
    this.#host.served();
  }

  /** Sends the headers of a response; `isLast` also ends the response. */
  respond(fields: readonly HttpField[], isLast: boolean): void {
    if (!this.localEnded) this.#host.respond(this, fields, isLast);
  }

  /**
   * Queues a chunk, which must not be modified any more; discards it unless `isWritable`.
   * @param isOwned whether the memory of the chunk may be freed once it is sent.
   */
  push(chunk: Uint8Array, isOwned: boolean): void {
    if (this.isWritable) this.queue.push(chunk, isOwned);
    else if (isOwned) freeChunk(chunk);
  }

  /**
   * Sends queued data as far as windows allow. Returns false if the writer must wait for `onWritable`, and `undefined`
   * if the stream accepts no more data.
   */
  flush(): boolean | undefined {
    if (!this.isWritable) return undefined;
    this.#host.write(this);
    return !this.isWriterWaiting;
  }

  /** Ends this side after the queued data, with trailers if there are any. */
  end(trailers?: readonly HttpField[]): void {
    if (!this.isWritable) return;
    this.queue.end(trailers);
    this.#host.write(this);
  }

  /** Resets the stream, unless it is closed; queued data is discarded. */
  reset(code: number): void {
    this.received.clear();
    if (!this.isClosed) this.#host.reset(this, code);
  }

  /** Takes up to `limit` received bytes, which must be used or copied before the caller returns. */
  take(limit: number): readonly Uint8Array[] {
    if (this.received.length === 0) return NO_PIECES;
    const pieces = this.received.take(limit);
    this.#host.consumed(this);
    return pieces;
  }

  /** @internal Called when the head of the peer's message was received; interim responses do not count. */
  onHead(): void {
    if (!this.isClosed && this.arrived === 'nothing') this.arrived = 'head';
  }

  /** @internal Called when END_STREAM was sent. */
  onEndSent(): void {
    if (this.state === 'open') this.state = 'half-closed (local)';
    else if (this.state === 'half-closed (remote)') this.state = 'closed';
    if (this.isClosed) this.#host.closed(this);
    this.handler?.onEndSent();
  }

  /** @internal Called when END_STREAM was received. */
  onEndReceived(): void {
    if (this.state === 'open' || this.state === 'half-closed (local)') {
      this.state = this.state === 'open' ? 'half-closed (remote)' : 'closed';
      this.arrived = 'all';
    }
    if (this.isClosed) this.#host.closed(this);
  }

  /** @internal Called when the stream was reset, or its connection has ended. */
  onReset(): void {
    this.state = 'closed';
    this.#host.closed(this);
  }
}
