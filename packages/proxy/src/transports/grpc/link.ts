import type { Clock } from '@weir/io/time';
import { LINK_CLOSED, ProtocolError } from '@weir/io';
import { type ByteLink, joined, type WireCounter } from '@weir/io/links';
import { UnitCost, UnitShare } from '@weir/io/bounds';
import { PulledLink } from '@weir/io/layers';
import {
  type Http2Driver,
  Http2Error,
  Http2ErrorCode,
  http2ErrorName,
  type Http2Stream,
  type StreamEnd,
  type StreamHandler,
} from '@weir/http/http2';
import { type HttpField, valueOf } from '@weir/http/fields';
import { CARRIER_LINGER_MS } from '../limits.ts';
import { encodeHunks, HunkDecoder, HunkError } from './hunks.ts';
import { invalidMessage } from './refusals.ts';
import { type TunnelMeter, WireShare } from './wire-share.ts';
import { StreamWindow } from './settings.ts';
import { PeerWatch } from './peer-watch.ts';

/** Bytes passed to the reader at once: as many as one read of the underlying link returns. */
const READ_BYTES = 128 << 10;

interface GrpcLinkOptions {
  readonly clock: Clock;
  readonly meter: TunnelMeter;
  /** The trailers that a server sends after the last message; `undefined` for clients. */
  readonly trailers: readonly HttpField[] | undefined;
  /** Called once with whether the call was refused: with false at the response, otherwise at the end. */
  readonly onSettled: (wasRefused: boolean) => void;
  /** Called once, when the link was destroyed or has closed normally. */
  readonly onReleased: () => void;
}

/**
 * One tunnel, a stream of an HTTP/2 connection, as a ByteLink. END_STREAM is the half-close; RST_STREAM, or a status
 * other than OK from the server, is a failure.
 */
export class GrpcLink extends PulledLink implements ByteLink, StreamHandler {
  readonly #stream: Http2Stream;
  readonly #options: GrpcLinkOptions;
  readonly #decoder = new HunkDecoder();
  #closing: PromiseWithResolvers<void> | undefined;
  /** Whether the sending side has ended, by END_STREAM or because the peer has closed the stream. */
  #isWriteOver = false;
  /** The error of a status other than OK, reported after the last byte. */
  #status: ProtocolError | undefined;
  /** The reason why writes fail after the peer has ended its side. */
  #cause: Error | undefined;
  #isSettled = false;
  /** Limits messages decoded per turn of the event loop, from the first frame with several of them on. */
  #units: UnitShare | undefined;
  /** Whether decoding is paused for other connections; the flow-control window then closes. */
  #isPaused = false;

  /** Takes ownership of an open stream. */
  constructor(stream: Http2Stream, options: GrpcLinkOptions) {
    super(options.clock, CARRIER_LINGER_MS);
    this.#stream = stream;
    this.#options = options;
    stream.handler = this;
  }

  override closeWrite(): Promise<void> {
    if (this.#closing) return this.#closing.promise;
    if (this.writeError) return Promise.reject(this.writeError);
    if (this.writeEnded) return Promise.resolve();
    this.#closing = Promise.withResolvers();
    const { promise } = this.#closing;
    this.writeEnded = true;
    this.finish();
    return promise;
  }

  override destroy(cause?: Error): void {
    if (this.isOver) {
      if (cause && this.isLingering) this.abandon();
      this.dropUnread();
      return;
    }
    const stream = this.#stream;
    const truncates = cause !== undefined || (!this.writeEnded && stream.queued > 0);
    if (truncates) stream.reset(Http2ErrorCode.CANCEL);
    else this.finish();
    if (!stream.isClosed) {
      if (stream.localEnded) stream.reset(Http2ErrorCode.NO_ERROR);
      else this.linger();
    }
    this.failAll(cause ?? LINK_CLOSED, cause);
  }

  // ---- events of the stream ----

  onResponse(status: number, fields: readonly HttpField[]): void {
    this.#settleCall(false);
    if (status === 200) this.#status = statusErrorOf(fields);
    else this.#status = failure(`the server responded with HTTP status ${status}`);
    if (this.#status) this.#abort(this.#status, Http2ErrorCode.CANCEL);
  }

  onTrailers(fields: readonly HttpField[]): void {
    this.#status = statusErrorOf(fields);
  }

  override onReadable(): void {
    if (this.readError) this.#stream.received.clear();
    else super.onReadable();
  }

  onEndSent(): void {
    this.#isWriteOver = true;
    this.#closing?.resolve();
    if (!this.isOver) {
      this.settle();
      return;
    }
    this.stopLinger();
    // Data that the peer still sends would not be read.
    this.#stream.reset(Http2ErrorCode.NO_ERROR);
  }

  onAbort(end: StreamEnd): void {
    this.stopLinger();
    const { by, code } = end;
    this.#settleCall(by === 'peer' && code === Http2ErrorCode.REFUSED_STREAM);
    if (!this.#stream.remoteEnded || by === 'connection') {
      const error = errorOf(end);
      this.failByPeer(error);
      this.#rejectClosing(error);
      this.#release();
      return;
    }
    // Data that was received before the peer ended its side may still be read.
    this.writeEnded = true;
    if (code === Http2ErrorCode.NO_ERROR) {
      // The server has finished the call: the client need not end it (RFC 9113 §8.1).
      this.failWrites(LINK_CLOSED);
      this.#isWriteOver = true;
      this.#closing?.resolve();
    } else {
      this.#cause = errorOf(end);
      this.failWrites(this.#cause);
      this.#rejectClosing(this.#cause);
    }
    this.settle();
  }

  protected override pull(): Uint8Array | undefined {
    const stream = this.#stream;
    while (!this.#isPaused) {
      const pieces = stream.take(READ_BYTES);
      if (pieces.length === 0) {
        if (stream.remoteEnded) this.#endReads();
        return undefined;
      }
      const payload = this.#decode(pieces);
      if (payload || this.readError) return payload;
    }
    return undefined;
  }

  protected override get isPullPaused(): boolean {
    return this.#isPaused;
  }

  protected override push(chunk: Uint8Array, isOwned: boolean): boolean | undefined {
    const stream = this.#stream;
    const pieces = encodeHunks(chunk);
    for (const piece of pieces) {
      this.#options.meter.addSent(piece.length);
      // The chunk itself, which is the message if there is one only, and not a part of it.
      stream.push(piece, isOwned && piece === chunk);
    }
    return stream.flush();
  }

  protected override finish(): void {
    this.#stream.end(this.#options.trailers);
  }

  protected override stopReading(): void {
    this.#stream.received.clear();
  }

  protected override abandon(): void {
    this.#stream.reset(Http2ErrorCode.CANCEL);
    this.#rejectClosing(LINK_CLOSED);
  }

  protected override get isUnfinished(): boolean {
    return !this.#stream.localEnded;
  }

  /** Constant, so that a link lingers for exactly CARRIER_LINGER_MS. */
  protected override get untaken(): number {
    return 0;
  }

  /** Number of bytes queued in the stream; a RST_STREAM is sent after the bytes that are already on the connection. */
  protected override get undelivered(): number {
    return this.#stream.queued;
  }

  /** Whether writing has ended; END_STREAM is sent after all queued data. */
  protected override get isWriteOver(): boolean {
    return this.#isWriteOver || this.#cause !== undefined;
  }

  protected override failAll(error: Error, cause: Error | undefined): void {
    if (this.isOver) return;
    super.failAll(error, cause);
    this.stopReading();
    if (!this.isLingering) this.#rejectClosing(error);
    this.#release();
  }

  /** Closes the link once both sides have ended. */
  protected override settle(): boolean {
    const isSettled = super.settle(this.#cause);
    if (isSettled) this.#release();
    return isSettled;
  }

  #release(): void {
    this.#settleCall(false);
    this.#options.onReleased();
  }

  /** Decodes messages into a new buffer with their payload; `undefined` if there is none. */
  #decode(pieces: readonly Uint8Array[]): Uint8Array | undefined {
    const parts: Uint8Array[] = [];
    const before = this.#decoder.messages;
    try {
      for (const piece of pieces) {
        this.#options.meter.addReceived(piece.length);
        for (const part of this.#decoder.push(piece)) parts.push(part);
      }
    } catch (error) {
      if (!(error instanceof HunkError)) throw error;
      this.#endInvalid(error);
      return undefined;
    }
    this.#count(this.#decoder.messages - before, pieces.length);
    return parts.length === 0 ? undefined : joined(parts);
  }

  /** Counts messages beyond one per frame, which is what peers normally send. */
  #count(messages: number, frames: number): void {
    if (messages <= frames) return;
    const turn = (this.#units ??= new UnitShare()).take(messages * UnitCost.frame);
    if (!turn) return;
    this.#isPaused = true;
    void turn.then(() => {
      this.#isPaused = false;
      this.onReadable();
    });
  }

  /** Ends reading, after the peer has ended its side and all data was read. */
  #endReads(): void {
    const error = this.#decoder.atBoundary
      ? this.#status
      : failure('the tunnel ended in the middle of a message');
    if (error) {
      this.#abort(error, Http2ErrorCode.CANCEL);
      return;
    }
    this.readEnded = true;
    this.settle();
  }

  /** Ends a call with an invalid message as grpc-go does: a server with a status, a client with CANCEL. */
  #endInvalid(error: HunkError): void {
    const stream = this.#stream;
    if (!this.#options.trailers || this.writeEnded) {
      this.#abort(error, Http2ErrorCode.CANCEL);
      return;
    }
    this.writeEnded = true;
    stream.end(invalidMessage(error.grpcMessage));
    if (stream.localEnded) stream.reset(Http2ErrorCode.NO_ERROR);
    else this.linger();
    this.failAll(error, error);
  }

  #abort(error: Error, code: number): void {
    this.#stream.reset(code);
    this.failAll(error, error);
  }

  #settleCall(wasRefused: boolean): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#options.onSettled(wasRefused);
  }

  #rejectClosing(reason: Error): void {
    this.#closing?.promise.catch(() => undefined);
    this.#closing?.reject(reason);
  }
}

const failure = (reason: string): ProtocolError => new ProtocolError(`gRPC: ${reason}`);

/** Returns the error of a status other than OK, in trailers or in a trailers-only response. */
function statusErrorOf(fields: readonly HttpField[]): ProtocolError | undefined {
  const status = valueOf(fields, 'grpc-status');
  if (status === undefined || status === '0') return undefined;
  return failure(`the server ended the call with status ${status}`);
}

/**
 * Shared by all tunnels of a connection: an error with its stack costs as much as everything else that ends a tunnel.
 */
const LOST = failure('the connection of the tunnel was lost');

function errorOf({ by, code, cause }: StreamEnd): Error {
  if (by === 'peer') return failure(`the peer reset the tunnel (${http2ErrorName(code)})`);
  if (cause instanceof Http2Error) {
    return new ProtocolError(`HTTP/2: ${cause.reason} (${cause.name})`);
  }
  return cause ?? LOST;
}

interface TunnelsOptions {
  readonly clock: Clock;
  /** The trailers that a server sends after the last message of a tunnel; `undefined` at a client. */
  readonly trailers: readonly HttpField[] | undefined;
  /** Called whenever the last tunnel is released. */
  readonly onEmpty: () => void;
}

/** The tunnels of one connection, with its stream window, its byte counter and its watch. */
export class Tunnels {
  readonly watch: PeerWatch;
  readonly #options: TunnelsOptions;
  readonly #share: WireShare;
  readonly #window: StreamWindow;
  #count = 0;

  /** @param wire the byte counter of the connection. */
  constructor(driver: Http2Driver, wire: WireCounter, options: TunnelsOptions) {
    this.watch = new PeerWatch(driver, options.clock);
    this.#options = options;
    this.#share = new WireShare(wire);
    // A server limits the tunnels that its clients open.
    this.#window = new StreamWindow(driver.connection, options.trailers !== undefined);
  }

  /** Called when a client has authenticated: it may open more tunnels. */
  prove(): void {
    this.#window.prove();
  }

  get count(): number {
    return this.#count;
  }

  /** Creates a tunnel that takes ownership of a stream. */
  add(
    stream: Http2Stream,
    onSettled: (wasRefused: boolean) => void = () => undefined,
  ): { readonly link: GrpcLink; readonly wire: WireCounter } {
    const { clock, trailers, onEmpty } = this.#options;
    const wire = this.#share.join();
    this.#window.adjust(++this.#count);
    const link = new GrpcLink(stream, {
      clock,
      meter: wire,
      trailers,
      onSettled,
      onReleased: () => {
        wire.leave();
        this.#window.adjust(--this.#count);
        if (this.#count === 0) onEmpty();
      },
    });
    return { link, wire };
  }
}
