import type { Clock, Timer } from '../net/clock.ts';
import { LinkClosedError } from '../net/errors.ts';
import type { ByteLink } from '../net/link.ts';
import { abortReason } from '../net/read-queue.ts';
import { TcpFailedError } from './failures.ts';
import { LINGER } from './limits.ts';
import type { TcpEvent } from './tcp/events.ts';
import type { TcpFlow, TcpOwner } from './tcp-flow.ts';

/** The stack of a link, as the link needs it. */
export interface TcpHost {
  readonly clock: Clock;
  /** Something of the connection was called. */
  touch(flow: TcpFlow): void;
}

interface PendingRead {
  readonly resolve: (chunk: Uint8Array | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: (() => void) | undefined;
}

/**
 * A TCP connection as a ByteLink. What has been received stays with the connection until it is read, so
 * that a reader that rests closes the window; what is written is queued there.
 *
 * A connection that the peer resets has failed as a whole, but for what it had sent before its FIN.
 */
export class TcpLink implements ByteLink, TcpOwner {
  readonly closed: Promise<Error | undefined>;
  /** Resolves when the connection is established; rejects when it has failed before. */
  readonly established: Promise<void>;
  readonly #host: TcpHost;
  readonly #flow: TcpFlow;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #established: PromiseWithResolvers<void>;
  #pending: PendingRead | undefined;
  /** Put back by `unread`, the first at the end. */
  #unread: Uint8Array[] | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  #readEnded = false;
  #writeEnded = false;
  /** Why nothing can be read, or written, any more; of a link that failed as a whole, both. */
  #readError: Error | undefined;
  #writeError: Error | undefined;
  #isOver = false;
  /** Whether the peer's FIN was reached, so that what is left to be read is all. */
  #isWhole = false;
  /** Whether the link was released: what still comes is discarded. */
  #isReleased = false;
  #linger: Timer | undefined;

  constructor(host: TcpHost, flow: TcpFlow) {
    this.#host = host;
    this.#flow = flow;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    this.#established = Promise.withResolvers<void>();
    this.established = this.#established.promise;
    // Not every owner waits for it.
    this.established.catch(() => undefined);
    flow.owner = this;
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

  /** What was given is freed when the peer has acknowledged it, not when the collector finds it. */
  give(chunk: Uint8Array): Promise<void> | undefined {
    return this.#write(chunk, true);
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
    this.#flow.connection.closeWrite();
    this.#host.touch(this.#flow);
    this.#settle();
    return Promise.resolve();
  }

  destroy(cause?: Error): void {
    const truncates = cause !== undefined || !this.#writeEnded;
    if (this.#isOver) {
      if (truncates && this.#linger) this.#abort();
      return;
    }
    this.#isReleased = true;
    // What was written before a half-close still arrives, as over a socket.
    if (truncates) this.#abort();
    else {
      this.#discard();
      this.#linger ??= this.#startLinger();
    }
    this.#fail(cause ?? new LinkClosedError(), cause);
  }

  onEvent(event: TcpEvent): void {
    switch (event) {
      case 'requested':
        break;
      case 'established':
        this.#established.resolve();
        break;
      case 'end':
        this.#isWhole = true;
        this.#onReadable();
        break;
      case 'readable':
        this.#onReadable();
        break;
      case 'writable':
        this.#onWritable();
        break;
      case 'finished':
        break;
      case 'failed':
        this.#onFailed();
        break;
      case 'closed':
        this.#stopLinger();
        break;
      default:
        event satisfies never;
    }
  }

  /** The link has failed, without a call of the connection. */
  fail(error: Error): void {
    this.#stopLinger();
    this.#isReleased = true;
    this.#fail(error, error);
  }

  #write(chunk: Uint8Array, isOwned: boolean): Promise<void> | undefined {
    if (this.#writeError) return Promise.reject(this.#writeError);
    if (this.#writeEnded) return Promise.reject(new LinkClosedError());
    if (chunk.length === 0) return this.#room?.promise;
    const mayContinue = this.#flow.connection.write(chunk, isOwned);
    this.#host.touch(this.#flow);
    if (!mayContinue) this.#room ??= Promise.withResolvers<void>();
    return this.#room?.promise;
  }

  #onReadable(): void {
    if (this.#isReleased) this.#discard();
    if (!this.#pending) return;
    const chunk = this.#take();
    if (chunk !== undefined || this.#readEnded) this.#takePending()?.resolve(chunk);
  }

  #onWritable(): void {
    const room = this.#room;
    this.#room = undefined;
    room?.resolve();
  }

  #onFailed(): void {
    this.#stopLinger();
    const error = new TcpFailedError(this.#flow.connection.failure ?? 'aborted');
    this.#established.reject(error);
    this.#fail(error, error);
  }

  /** What was put back, or what the connection has. */
  #take(): Uint8Array | undefined {
    const back = this.#unread?.pop();
    if (back !== undefined) return back;
    if (this.#readEnded || this.#readError) return undefined;
    const { connection } = this.#flow;
    const chunk = connection.read(this.#host.clock.now());
    if (chunk !== undefined) {
      // Reading opens the window.
      this.#host.touch(this.#flow);
      return chunk;
    }
    if (!connection.isEnded) return undefined;
    this.#readEnded = true;
    this.#settle();
    return undefined;
  }

  /** A peer that sends to a released link is not stopped: it may read what was written before that. */
  #discard(): void {
    const { connection } = this.#flow;
    const now = this.#host.clock.now();
    while (connection.read(now) !== undefined);
    this.#host.touch(this.#flow);
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

  #abort(): void {
    this.#stopLinger();
    this.#flow.connection.abort(this.#host.clock.now());
    this.#host.touch(this.#flow);
  }

  /** Ends both directions. */
  #fail(error: Error, cause: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#established.reject(error);
    // The peer had sent everything before it failed: that is not truncated.
    if (this.#isReleased || !this.#isWhole) this.#failReads(error);
    this.#failWrites(error);
    this.#resolveClosed(cause);
  }

  /** Resolves `closed` when both directions have ended without a failure of the whole. */
  #settle(): void {
    const readOver = this.#readEnded || this.#readError !== undefined;
    if (this.#isOver || !readOver || !this.#writeEnded) return;
    this.#isOver = true;
    this.#linger ??= this.#startLinger();
    this.#resolveClosed(undefined);
  }

  /**
   * Watches what is left to be sent, and to be ended by the peer, of which the owner of the link sees
   * nothing any more.
   */
  #startLinger(): Timer | undefined {
    const { connection } = this.#flow;
    if (connection.state === 'CLOSED' || connection.state === 'TIME-WAIT') return undefined;
    const { unacknowledged } = connection;
    return this.#host.clock.after(LINGER, () => {
      this.#linger = undefined;
      if (connection.unacknowledged < unacknowledged) this.#linger = this.#startLinger();
      else this.#abort();
    });
  }

  #stopLinger(): void {
    this.#linger?.cancel();
    this.#linger = undefined;
  }
}
