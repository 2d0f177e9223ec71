import { LinkClosedError } from '../net/errors.ts';
import type { Clock, Timer } from '../net/clock.ts';
import { abortReason } from '../net/read-queue.ts';
import type { Connection } from './connection.ts';
import type { QuicStream } from './contract.ts';
import { STREAM_LINGER } from './endpoint/limits.ts';
import { StreamFailedError } from './failures.ts';

/** The calls of a connection that concern one stream. */
export type StreamCalls = Pick<
  Connection,
  'read' | 'write' | 'queued' | 'finish' | 'reset' | 'stopSending'
>;

/** The connection of a stream, as the stream needs it. */
export interface StreamHost {
  readonly calls: StreamCalls;
  readonly clock: Clock;
  /** Something may be due to be sent. */
  touch(): void;
}

/** The code with which a link ends its stream when it is destroyed; RFC 9000 gives codes no meaning. */
const DESTROYED = 0;

interface PendingRead {
  readonly resolve: (chunk: Uint8Array | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: (() => void) | undefined;
}

/**
 * A stream as a ByteLink. What has been received stays with the connection until it is read, so that a
 * reader that rests stops its sender (flow control by consumption); what is written is queued there.
 *
 * A stream that the peer resets has failed as a whole: what it was to carry is truncated. One that the
 * peer stops (RFC 9000 §3.5) rejects writes, and is read to its end: a peer that wants no more may have
 * sent all of its own.
 */
export class StreamLink implements QuicStream {
  readonly id: number;
  readonly bidirectional: boolean;
  readonly closed: Promise<Error | undefined>;
  readonly #host: StreamHost;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #pending: PendingRead | undefined;
  /** Put back by `unread`, the first at the end. */
  #unread: Uint8Array[] | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #readEnded: boolean;
  #writeEnded: boolean;
  /** Why nothing can be read, or written, any more; of a link that failed as a whole, both. */
  #readError: Error | undefined;
  #writeError: Error | undefined;
  #isOver = false;
  #linger: Timer | undefined;

  constructor(host: StreamHost, id: number, isOwn: boolean) {
    this.#host = host;
    this.id = id;
    this.bidirectional = (id & 0x02) === 0;
    this.#readEnded = !this.bidirectional && isOwn;
    this.#writeEnded = !this.bidirectional && !isOwn;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (this.#pending) return Promise.reject(new LinkClosedError('a read is already pending'));
    if (this.#readError) return Promise.reject(this.#readError);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    const chunk = this.#take();
    if (chunk !== undefined) return Promise.resolve(chunk);
    if (this.#readEnded) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      let onAbort: (() => void) | undefined;
      if (signal) {
        onAbort = () => this.#takePending()?.reject(abortReason(signal));
        signal.addEventListener('abort', onAbort, { once: true });
      }
      this.#pending = { resolve, reject, signal, onAbort };
    });
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) (this.#unread ??= []).push(chunk);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.#write(chunk, false);
  }

  give(chunk: Uint8Array): Promise<void> | undefined {
    return this.#write(chunk, true);
  }

  #write(chunk: Uint8Array, isOwned: boolean): Promise<void> | undefined {
    if (this.#writeError) return Promise.reject(this.#writeError);
    if (this.#writeEnded) return Promise.reject(new LinkClosedError());
    if (chunk.length === 0) return this.#room?.promise;
    const mayContinue = this.#host.calls.write(this.id, chunk, isOwned);
    this.#host.touch();
    if (mayContinue === undefined) {
      this.#writeError = new LinkClosedError();
      return Promise.reject(this.#writeError);
    }
    if (!mayContinue) this.#room ??= Promise.withResolvers<void>();
    return this.#room?.promise;
  }

  writeAll(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    let full: Promise<void> | undefined;
    for (const chunk of chunks) {
      // All but the last promise would be the same one, or would have rejected.
      full = this.write(chunk);
      if (this.#writeError || this.#writeEnded) break;
    }
    return full;
  }

  closeWrite(): Promise<void> {
    if (this.#writeEnded) return Promise.resolve();
    if (this.#writeError) return Promise.reject(this.#writeError);
    this.#writeEnded = true;
    this.#host.calls.finish(this.id);
    this.#host.touch();
    this.#settle();
    return Promise.resolve();
  }

  reset(code: number): void {
    if (this.#writeError) return;
    this.#resetNow(code);
    this.#endWrites(new LinkClosedError('the stream was reset'));
    this.#settle();
  }

  stopSending(code: number): void {
    if (this.#readEnded || this.#readError) return;
    this.#host.calls.stopSending(this.id, code);
    this.#host.touch();
    this.#failReads(new LinkClosedError('the stream is not read any more'));
    this.#settle();
  }

  destroy(cause?: Error): void {
    const truncates = cause !== undefined || !this.#writeEnded;
    if (this.#isOver) {
      if (truncates && this.#linger) this.#resetNow(DESTROYED);
      return;
    }
    if (!this.#readEnded && !this.#readError) {
      this.#host.calls.stopSending(this.id, DESTROYED);
      this.#host.touch();
    }
    // What was written before a half-close still arrives, as over a socket.
    if (truncates) this.#resetNow(DESTROYED);
    else this.#linger ??= this.#startLinger();
    this.#fail(cause ?? new LinkClosedError(), cause);
  }

  // ---- what the connection reports ----

  onReadable(): void {
    if (!this.#pending) return;
    const chunk = this.#take();
    if (chunk !== undefined || this.#readEnded) this.#takePending()?.resolve(chunk);
  }

  onWritable(): void {
    const room = this.#room;
    this.#room = undefined;
    room?.resolve();
  }

  onReset(code: number): void {
    if (this.#isOver) return;
    const failure = new StreamFailedError('reset', code);
    if (!this.#writeEnded) this.#resetNow(DESTROYED);
    this.#fail(failure, failure);
  }

  onStopped(code: number): void {
    this.#endWrites(new StreamFailedError('stopped', code));
    this.#settle();
  }

  /** Both directions have ended, and the peer knows it. */
  onClosed(): void {
    this.#stopLinger();
  }

  /** The connection has ended. */
  onConnectionEnd(error: Error): void {
    this.#stopLinger();
    this.#fail(error, error);
  }

  /** What was put back, or what the connection has. */
  #take(): Uint8Array | undefined {
    const back = this.#unread?.pop();
    if (back !== undefined) return back;
    if (this.#readEnded || this.#readError) return undefined;
    const chunk = this.#host.calls.read(this.id);
    if (chunk === undefined) return undefined;
    // Reading grants the peer more.
    this.#host.touch();
    if (typeof chunk !== 'string') return chunk;
    this.#readEnded = true;
    this.#settle();
    return undefined;
  }

  #takePending(): PendingRead | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending?.onAbort) pending.signal?.removeEventListener('abort', pending.onAbort);
    return pending;
  }

  #failReads(error: Error): void {
    this.#readError ??= error;
    this.#unread = undefined;
    this.#takePending()?.reject(this.#readError);
  }

  #failWrites(cause: Error): void {
    this.#writeError ??= cause;
    const room = this.#room;
    this.#room = undefined;
    // A writer that does not wait has nothing to be rejected for.
    room?.promise.catch(() => undefined);
    room?.reject(this.#writeError);
  }

  /** The same where the direction has ended without a failure of the link. */
  #endWrites(error: Error): void {
    this.#failWrites(error);
    this.#writeEnded = true;
  }

  #resetNow(code: number): void {
    this.#stopLinger();
    this.#host.calls.reset(this.id, code);
    this.#host.touch();
  }

  /** Ends both directions. */
  #fail(error: Error, cause: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failReads(error);
    this.#failWrites(error);
    this.#resolveClosed(cause);
  }

  /** Resolves `closed` when both directions have ended without a failure of the whole. */
  #settle(): void {
    const readOver = this.#readEnded || this.#readError !== undefined;
    const writeOver = this.#writeEnded || this.#writeError !== undefined;
    if (this.#isOver || !readOver || !writeOver) return;
    this.#isOver = true;
    if (this.#writeError === undefined) this.#linger = this.#startLinger();
    this.#resolveClosed(undefined);
  }

  /** Watches what is left to be sent, of which the link's owner sees nothing any more. */
  #startLinger(): Timer | undefined {
    const queued = this.#host.calls.queued(this.id);
    if (queued === 0) return undefined;
    return this.#host.clock.after(STREAM_LINGER, () => {
      this.#linger = undefined;
      if (this.#host.calls.queued(this.id) < queued) this.#linger = this.#startLinger();
      else this.#resetNow(DESTROYED);
    });
  }

  #stopLinger(): void {
    this.#linger?.cancel();
    this.#linger = undefined;
  }
}
