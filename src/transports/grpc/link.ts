import { constants, type Http2Stream, type IncomingHttpHeaders } from 'node:http2';
import type { Clock } from '../../net/clock.ts';
import { LinkClosedError, ProtocolError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/link.ts';
import { ReadQueue } from '../../net/read-queue.ts';
import { freeChunk, ownChunk } from '../../net/spent-chunk.ts';
import { LINGER_MS } from '../limits.ts';
import { encodeHunks, HunkDecoder } from './hunks.ts';
import type { TunnelMeter } from './wire-share.ts';

/** Payload that is handed on together. */
const GATHERED_BYTES = 64 << 10;
/** A frame from this size on is probably followed by others. */
const BULK_FRAME = 4 << 10;

/**
 * One tunnel, a stream of an HTTP/2 connection, as a ByteLink. END_STREAM is the half-close; a
 * reset, or a status of the server other than OK, is a failure.
 */
export class GrpcLink implements ByteLink {
  readonly closed: Promise<Error | undefined>;
  /** Resolves when the link was destroyed or has closed by itself. */
  readonly released: Promise<void>;
  readonly #stream: Http2Stream;
  readonly #clock: Clock;
  readonly #meter: TunnelMeter;
  readonly #queue = new ReadQueue<Uint8Array>();
  readonly #decoder = new HunkDecoder();
  /** Payload of the frames of one read, which Node emits one by one, in pieces of TLS records. */
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #flushing = false;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #release: () => void;
  #drain: PromiseWithResolvers<void> | undefined;
  #closing: Promise<void> | undefined;
  #cause: Error | undefined;
  #destroyed = false;

  constructor(stream: Http2Stream, clock: Clock, meter: TunnelMeter) {
    this.#stream = stream;
    this.#clock = clock;
    this.#meter = meter;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    const released = Promise.withResolvers<void>();
    this.released = released.promise;
    this.#release = released.resolve;
    stream.pause();
    stream.on('data', this.#onData);
    stream.on('end', this.#onEnd);
    stream.on('drain', this.#onDrain);
    stream.on('error', this.#onError);
    stream.on('close', this.#onClose);
    if (stream.destroyed) this.#onClose();
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    const next = this.#queue.take(signal);
    if (this.#queue.wanted && this.#stream.isPaused()) this.#stream.resume();
    return next;
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#queue.unshift(chunk);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.#writePieces(encodeHunks(chunk));
  }

  give(chunk: Uint8Array): Promise<void> | undefined {
    // HTTP/2 refers to the chunk until it was encrypted or sent.
    return this.#writePieces(encodeHunks(chunk), (error) => {
      if (!error) freeChunk(chunk);
    });
  }

  writeAll(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    return this.#writePieces(chunks.flatMap(encodeHunks));
  }

  closeWrite(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  destroy(cause?: Error): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#release();
    this.#cause ??= cause;
    this.#queue.fail(cause ?? new LinkClosedError());
    const stream = this.#stream;
    if (stream.destroyed) return;
    if (cause === undefined && this.#bothEnded) {
      this.#linger();
      return;
    }
    // Not `close` with an error code: Node sends END_STREAM before that reset, as after a clean end.
    if (cause === undefined && stream.writableLength === 0) {
      stream.close(constants.NGHTTP2_NO_ERROR);
      this.#linger();
    } else {
      stream.destroy(cause ?? new LinkClosedError());
    }
  }

  /** Both directions have ended; the server's trailers may be missing. */
  get #bothEnded(): boolean {
    return this.#stream.writableFinished && this.#stream.readableEnded;
  }

  /**
   * Waits for the stream to close by itself, since a reset would overtake the trailers. The limit is
   * for connections that Node no longer reads, whose streams never close.
   */
  #linger(): void {
    const stream = this.#stream;
    const timer = this.#clock.after(LINGER_MS, () => stream.destroy());
    stream.once('close', () => timer.cancel());
  }

  /** Fails the tunnel because of its headers or trailers. */
  refuse(reason: string): void {
    const error = new ProtocolError(`gRPC: ${reason}`);
    this.#cause ??= error;
    this.#queue.fail(error);
    this.destroy(error);
  }

  /** Checks the status in trailers, or in a response that consists of trailers alone. */
  checkStatus(headers: IncomingHttpHeaders): void {
    const status = headers['grpc-status'];
    if (status !== undefined && status !== '0')
      this.refuse(`the server ended the call with status ${String(status)}`);
  }

  async #end(): Promise<void> {
    const stream = this.#stream;
    if (stream.writableFinished) return;
    // The server has finished the call: the client need not end it.
    if (stream.closed && this.#closedCleanly) return;
    if (stream.closed || stream.destroyed) throw this.#closedError();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onClose = (): void => {
      // When the peer has ended before, the stream closes with the last frame, without `finish`.
      if (stream.writableFinished || this.#closedCleanly) resolve();
      else reject(this.#closedError());
    };
    stream.once('finish', resolve).once('close', onClose);
    stream.end();
    try {
      await promise;
    } finally {
      stream.off('finish', resolve).off('close', onClose);
    }
  }

  /** @param onSent is called when all pieces were handed to the layer below, or have failed. */
  #writePieces(
    pieces: readonly Uint8Array[],
    onSent?: (error?: Error | null) => void,
  ): Promise<void> | undefined {
    const stream = this.#stream;
    if (!stream.writable || this.#closing || this.#destroyed) {
      return Promise.reject(this.#closedError());
    }
    if (pieces.length === 0) return undefined;
    let ready = true;
    stream.cork();
    const last = pieces.length - 1;
    for (const [index, piece] of pieces.entries()) {
      this.#meter.addSent(piece.length);
      ready = stream.write(piece, index === last ? onSent : undefined);
    }
    stream.uncork();
    if (ready) return undefined;
    this.#drain ??= Promise.withResolvers<void>();
    return this.#drain.promise;
  }

  get #closedCleanly(): boolean {
    return !this.#cause && !this.#destroyed && this.#stream.rstCode === constants.NGHTTP2_NO_ERROR;
  }

  #closedError(): Error {
    return this.#cause ?? new LinkClosedError();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#meter.addReceived(chunk.length);
    try {
      for (const piece of this.#decoder.push(chunk)) {
        this.#gathered.push(piece);
        this.#gatheredBytes += piece.length;
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#cause ??= error;
      this.destroy(error);
      return;
    }
    const isBulk = chunk.length >= BULK_FRAME || !this.#decoder.atBoundary;
    if (!isBulk || this.#gatheredBytes >= GATHERED_BYTES) this.#flush();
    else if (!this.#flushing) {
      this.#flushing = true;
      setImmediate(this.#flushLater);
    }
  };

  readonly #flushLater = (): void => {
    this.#flushing = false;
    this.#flush();
  };

  #flush(): void {
    const pieces = this.#gathered;
    const [first] = pieces;
    if (first === undefined) return;
    const wanted = this.#queue.wanted;
    this.#queue.push(pieces.length === 1 ? first : joined(pieces, this.#gatheredBytes));
    this.#gathered = [];
    this.#gatheredBytes = 0;
    if (!wanted) this.#stream.pause();
  }

  readonly #onEnd = (): void => {
    // When a connection is destroyed, its streams emit `end` before `close`.
    if (this.#stream.destroyed) return;
    this.#flush();
    // Trailers are emitted after `end`.
    process.nextTick(() => {
      const { rstCode } = this.#stream;
      if (this.#queue.finished) return;
      if (rstCode !== undefined && rstCode !== constants.NGHTTP2_NO_ERROR) {
        this.#lose(new ProtocolError(`gRPC: the peer reset the tunnel (code ${rstCode})`));
      } else if (!this.#decoder.atBoundary) {
        this.#lose(new ProtocolError('gRPC: the tunnel ended in the middle of a message'));
      } else {
        this.#queue.end();
      }
    });
  };

  #lose(error: Error): void {
    this.#cause ??= error;
    this.#queue.fail(this.#cause);
    this.destroy(this.#cause);
  }

  readonly #onDrain = (): void => {
    this.#drain?.resolve();
    this.#drain = undefined;
  };

  readonly #onError = (error: Error): void => {
    this.#cause ??= error;
    this.#queue.fail(this.#cause);
  };

  readonly #onClose = (): void => {
    const { rstCode } = this.#stream;
    const reset = rstCode !== undefined && rstCode !== constants.NGHTTP2_NO_ERROR;
    if (reset && !this.#destroyed) {
      this.#cause ??= new ProtocolError(`gRPC: the peer reset the tunnel (code ${rstCode})`);
    }
    process.nextTick(() => {
      if (!this.#queue.finished) {
        this.#cause ??= new ProtocolError('gRPC: the connection of the tunnel was lost');
        this.#queue.fail(this.#cause);
      }
      if (this.#drain) {
        this.#drain.promise.catch(() => undefined);
        this.#drain.reject(this.#closedError());
        this.#drain = undefined;
      }
      this.#resolveClosed(this.#cause);
      this.#release();
    });
  };
}

/** One copy of the pieces, which can be freed as soon as it is sent. */
function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const whole = ownChunk(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
