import type { Clock, Timer } from '../../net/time/clock.ts';
import { LinkClosedError, ProtocolError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/links/link.ts';
import { PulledLink } from '../../net/links/pulled-link.ts';
import { ownChunk } from '../../net/links/spent-chunk.ts';
import { Http2Error, Http2ErrorCode, http2ErrorName } from '../../http/http2/errors.ts';
import { type HttpField, valueOf } from '../../http/fields/field.ts';
import type { Http2Stream, StreamEnd, StreamHandler } from '../../http/http2/stream.ts';
import { LINGER_MS } from '../limits.ts';
import { encodeHunks, HunkDecoder } from './hunks.ts';
import type { TunnelMeter } from './wire-share.ts';

/** Payload that is handed on together: that of one read of the link below. */
const READ_BYTES = 128 << 10;

export interface GrpcLinkOptions {
  readonly clock: Clock;
  readonly meter: TunnelMeter;
  /** What a server sends behind the last message; `undefined` for clients. */
  readonly trailers: readonly HttpField[] | undefined;
  /** Called once: at the response, with false, or at the end, with whether the call was refused. */
  readonly onSettled: (wasRefused: boolean) => void;
  /** Called once: when the link was destroyed or has closed by itself. */
  readonly onReleased: () => void;
}

/**
 * One tunnel, a stream of an HTTP/2 connection, as a ByteLink. END_STREAM is the half-close; a
 * reset, or a status of the server other than OK, is a failure.
 */
export class GrpcLink extends PulledLink implements ByteLink, StreamHandler {
  readonly #stream: Http2Stream;
  readonly #options: GrpcLinkOptions;
  readonly #decoder = new HunkDecoder();
  #closing: PromiseWithResolvers<void> | undefined;
  /** Whether this side was ended by END_STREAM, or by the peer after its own end. */
  #isWriteOver = false;
  /** The status other than OK that follows the last byte. */
  #status: ProtocolError | undefined;
  /** Why writing failed after the peer had ended its side. */
  #cause: Error | undefined;
  #isSettled = false;
  #isOver = false;
  #linger: Timer | undefined;

  /** Takes an open stream over. */
  constructor(stream: Http2Stream, options: GrpcLinkOptions) {
    super();
    this.#stream = stream;
    this.#options = options;
    stream.handler = this;
  }

  closeWrite(): Promise<void> {
    if (this.#closing) return this.#closing.promise;
    if (this.writeError) return Promise.reject(this.writeError);
    if (this.writeEnded) return Promise.resolve();
    this.#closing = Promise.withResolvers();
    const { promise } = this.#closing;
    this.writeEnded = true;
    this.#stream.end(this.#options.trailers);
    return promise;
  }

  destroy(cause?: Error): void {
    if (this.#isOver) {
      if (cause && this.#linger) this.#stream.reset(Http2ErrorCode.CANCEL);
      return;
    }
    const stream = this.#stream;
    const truncates = cause !== undefined || (!this.writeEnded && stream.queued > 0);
    if (truncates) stream.reset(Http2ErrorCode.CANCEL);
    else stream.end(this.#options.trailers);
    if (!stream.isClosed) this.#finishQuietly();
    this.#fail(cause ?? new LinkClosedError(), cause);
  }

  // ---- what the stream reports ----

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
    if (this.#isOver) this.#stream.received.clear();
    else super.onReadable();
  }

  onEndSent(): void {
    this.#isWriteOver = true;
    this.#closing?.resolve();
    if (!this.#isOver) {
      this.#settle();
      return;
    }
    this.#stopLinger();
    // What the peer still sends would be read by nothing.
    this.#stream.reset(Http2ErrorCode.NO_ERROR);
  }

  onAbort(end: StreamEnd): void {
    this.#stopLinger();
    const { by, code } = end;
    this.#settleCall(by === 'peer' && code === Http2ErrorCode.REFUSED_STREAM);
    if (!this.#stream.remoteEnded || by === 'connection') {
      const error = errorOf(end);
      this.#fail(error, error);
      return;
    }
    // What the peer has ended is still to be read.
    this.writeEnded = true;
    if (code === Http2ErrorCode.NO_ERROR) {
      // The server has finished the call: the client need not end it (RFC 9113 §8.1).
      this.failWrites(new LinkClosedError());
      this.#isWriteOver = true;
      this.#closing?.resolve();
    } else {
      this.#cause = errorOf(end);
      this.failWrites(this.#cause);
      this.#rejectClosing(this.#cause);
    }
    this.#settle();
  }

  protected override pull(): Uint8Array | undefined {
    const stream = this.#stream;
    for (;;) {
      const pieces = stream.take(READ_BYTES);
      if (pieces.length === 0) {
        if (stream.remoteEnded) this.#endReads();
        return undefined;
      }
      const payload = this.#decode(pieces);
      if (payload || this.#isOver) return payload;
    }
  }

  protected override push(chunk: Uint8Array, isOwned: boolean): boolean | undefined {
    const stream = this.#stream;
    const pieces = encodeHunks(chunk);
    for (const piece of pieces) {
      this.#options.meter.addSent(piece.length);
      // One message is its header and the chunk itself, not a part of it.
      stream.push(piece, isOwned && piece.length === chunk.length && pieces.length === 2);
    }
    return stream.flush();
  }

  /** The payload in bytes of messages, in memory of its own; `undefined` when there is none. */
  #decode(pieces: readonly Uint8Array[]): Uint8Array | undefined {
    const parts: Uint8Array[] = [];
    let length = 0;
    try {
      for (const piece of pieces) {
        this.#options.meter.addReceived(piece.length);
        for (const part of this.#decoder.push(piece)) {
          parts.push(part);
          length += part.length;
        }
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#abort(error, Http2ErrorCode.PROTOCOL_ERROR);
      return undefined;
    }
    if (length === 0) return undefined;
    const payload = ownChunk(length);
    let at = 0;
    for (const part of parts) {
      payload.set(part, at);
      at += part.length;
    }
    return payload;
  }

  /** The peer's side has ended and was read. */
  #endReads(): void {
    const error = this.#decoder.atBoundary
      ? this.#status
      : failure('the tunnel ended in the middle of a message');
    if (error) {
      this.#abort(error, Http2ErrorCode.CANCEL);
      return;
    }
    this.readEnded = true;
    this.#settle();
  }

  /** Both sides have ended: the link closes by itself. */
  #settle(): void {
    const writeOver = this.#isWriteOver || this.#cause !== undefined;
    if (this.#isOver || !this.readEnded || !writeOver) return;
    this.#isOver = true;
    this.#settleCall(false);
    this.resolveClosed(this.#cause);
    this.#options.onReleased();
  }

  #abort(error: Error, code: number): void {
    this.#stream.reset(code);
    this.#fail(error, error);
  }

  #fail(error: Error, cause: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream.received.clear();
    this.failReads(error);
    this.failWrites(error);
    if (!this.#linger) this.#rejectClosing(error);
    this.#settleCall(false);
    this.resolveClosed(cause);
    this.#options.onReleased();
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

  /** Lets what was written before the end arrive, within a limit. */
  #finishQuietly(): void {
    const stream = this.#stream;
    if (stream.localEnded) {
      stream.reset(Http2ErrorCode.NO_ERROR);
      return;
    }
    this.#linger = this.#options.clock.after(LINGER_MS, () => {
      this.#linger = undefined;
      stream.reset(Http2ErrorCode.CANCEL);
      this.#rejectClosing(new LinkClosedError());
    });
  }

  #stopLinger(): void {
    this.#linger?.cancel();
    this.#linger = undefined;
  }
}

const failure = (reason: string): ProtocolError => new ProtocolError(`gRPC: ${reason}`);

/** A status other than OK, in trailers or in a response that consists of them. */
function statusErrorOf(fields: readonly HttpField[]): ProtocolError | undefined {
  const status = valueOf(fields, 'grpc-status');
  if (status === undefined || status === '0') return undefined;
  return failure(`the server ended the call with status ${status}`);
}

function errorOf({ by, code, cause }: StreamEnd): Error {
  if (by === 'peer') return failure(`the peer reset the tunnel (${http2ErrorName(code)})`);
  if (cause instanceof Http2Error) {
    return new ProtocolError(`HTTP/2: ${cause.reason} (${cause.name})`);
  }
  return cause ?? failure('the connection of the tunnel was lost');
}
