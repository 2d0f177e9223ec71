import { LinkClosedError } from '../errors.ts';
import { abortReason } from './read-queue.ts';

interface PendingRead {
  readonly resolve: (chunk: Uint8Array | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: (() => void) | undefined;
}

/**
 * What ByteLinks over a protocol core have in common: what was received stays with the core until it is
 * read, so that a reader that rests closes the window; what is written is queued there. How a link ends
 * is for the protocol to say.
 */
export abstract class PulledLink {
  readonly closed: Promise<Error | undefined>;
  protected readonly resolveClosed: (cause: Error | undefined) => void;
  protected readEnded = false;
  protected writeEnded = false;
  /** Why nothing can be read, or written, any more; of a link that failed as a whole, both. */
  protected readError: Error | undefined;
  protected writeError: Error | undefined;
  #pending: PendingRead | undefined;
  /** Put back by `unread`, the first at the end. */
  #unread: Uint8Array[] | undefined;
  #room: PromiseWithResolvers<void> | undefined;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.resolveClosed = resolve;
  }

  /** What the core has; `undefined` for nothing at present, and at the end, when `readEnded` is set. */
  protected abstract pull(): Uint8Array | undefined;

  /**
   * Queues a chunk.
   *
   * @param isOwned whether its memory may be freed once it is sent.
   * @returns whether the writer may continue at once; `undefined` when nothing is taken any more.
   */
  protected abstract push(chunk: Uint8Array, isOwned: boolean): boolean | undefined;

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (this.#pending) return Promise.reject(new LinkClosedError('a read is already pending'));
    if (this.readError) return Promise.reject(this.readError);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    const chunk = this.#take();
    if (chunk !== undefined) return Promise.resolve(chunk);
    // What was pulled may have been invalid.
    if (this.readError) return Promise.reject(this.readError);
    if (this.readEnded) return Promise.resolve(undefined);
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

  /** An owned chunk is freed when the peer has acknowledged it, not when the collector finds it. */
  write(chunk: Uint8Array, isOwned = false): Promise<void> | undefined {
    if (this.writeError) return Promise.reject(this.writeError);
    if (this.writeEnded) return Promise.reject(new LinkClosedError());
    if (chunk.length === 0) return this.#room?.promise;
    const mayContinue = this.push(chunk, isOwned);
    if (mayContinue === undefined) {
      this.writeError = new LinkClosedError();
      return Promise.reject(this.writeError);
    }
    if (!mayContinue) this.#room ??= Promise.withResolvers<void>();
    return this.#room?.promise;
  }

  writeAll(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    let full: Promise<void> | undefined;
    for (const chunk of chunks) {
      // All but the last promise would be the same one, or would have rejected.
      full = this.write(chunk, isOwned);
      if (this.writeError || this.writeEnded) break;
    }
    return full;
  }

  /** The core has something to be read, or the end. */
  onReadable(): void {
    if (!this.#pending) return;
    const chunk = this.#take();
    if (chunk !== undefined || this.readEnded) this.#takePending()?.resolve(chunk);
  }

  /** The core has room again. */
  onWritable(): void {
    this.#takeRoom()?.resolve();
  }

  protected failReads(error: Error): void {
    this.readError ??= error;
    this.#unread = undefined;
    this.#takePending()?.reject(this.readError);
  }

  protected failWrites(cause: Error): void {
    this.writeError ??= cause;
    const room = this.#takeRoom();
    // A writer that does not wait has nothing to be rejected for.
    room?.promise.catch(() => undefined);
    room?.reject(this.writeError);
  }

  /** What was put back, or what the core has. */
  #take(): Uint8Array | undefined {
    const back = this.#unread?.pop();
    if (back !== undefined) return back;
    return this.readEnded || this.readError ? undefined : this.pull();
  }

  #takePending(): PendingRead | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending?.onAbort) pending.signal?.removeEventListener('abort', pending.onAbort);
    return pending;
  }

  #takeRoom(): PromiseWithResolvers<void> | undefined {
    const room = this.#room;
    this.#room = undefined;
    return room;
  }
}
