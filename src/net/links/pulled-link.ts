import { LINK_CLOSED, LinkClosedError } from '../errors.ts';
import { DelayedReset } from './delayed-reset.ts';
import type { Clock, Timer } from '../time/clock.ts';
import { abortReason } from '../time/unless-aborted.ts';
import { PendingRead } from './pending-read.ts';

/**
 * What ByteLinks over a protocol core have in common. Received bytes stay with the core until they are
 * read, so that a reader that pauses closes the window; written bytes are queued there.
 *
 * After its end a link lingers: what was written before a half-close still arrives, as over a socket,
 * unless the peer takes none of it for `lingerMs`.
 */
export abstract class PulledLink {
  readonly closed: Promise<Error | undefined>;
  protected readEnded = false;
  protected writeEnded = false;
  /** Why nothing can be read, or written, any more; both are set when the link has failed as a whole. */
  protected readError: Error | undefined;
  protected writeError: Error | undefined;
  readonly #clock: Clock;
  readonly #lingerMs: number;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #pending = new PendingRead<Uint8Array>();
  /** Put back by `unread`, the first at the end. */
  #unread: Uint8Array[] | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  /** Why the peer's side has failed, once all that it had sent has been read. */
  #failure: Error | undefined;
  #isOver = false;
  #linger: Timer | undefined;
  #reset: DelayedReset | undefined;

  constructor(clock: Clock, lingerMs: number) {
    this.#clock = clock;
    this.#lingerMs = lingerMs;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  /** Takes bytes from the core; `undefined` when it has none, and at the end, having set `readEnded`. */
  protected abstract pull(): Uint8Array | undefined;

  /**
   * Queues a chunk.
   *
   * @param isOwned whether its memory may be freed once it is sent.
   * @returns whether the writer may continue at once; `undefined` when the core accepts no more data.
   */
  protected abstract push(chunk: Uint8Array, isOwned: boolean): boolean | undefined;

  /** Queues the end of the stream after what was written. */
  protected abstract finish(): void;

  /** Stops reading, since the link is destroyed. @param truncates whether `abandon` follows. */
  protected abstract stopReading(truncates: boolean): void;

  /** Resets what is left of the connection or stream. */
  protected abstract abandon(): void;

  /** Whether something of this side is left to be sent or acknowledged; else there is no linger. */
  protected abstract get isUnfinished(): boolean;

  /** Bytes that the peer has not taken: the link lingers on while their number falls. */
  protected abstract get untaken(): number;

  /** Bytes that a reset would discard. */
  protected get undelivered(): number {
    return this.untaken;
  }

  /** Whether `pull` will have more in a later turn, which it reports by `onReadable`. */
  protected get isPullPaused(): boolean {
    return false;
  }

  /** Whether the peer may pause `elapsed` milliseconds after it has taken something last. */
  protected mayPause(_elapsed: number): boolean {
    return false;
  }

  /** Whether writing has ended, for `settle`. */
  protected get isWriteOver(): boolean {
    return this.writeEnded || this.writeError !== undefined;
  }

  /** Both directions are over, and `closed` has resolved. */
  protected get isOver(): boolean {
    return this.#isOver;
  }

  protected get isLingering(): boolean {
    return this.#linger !== undefined || this.#reset !== undefined;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (this.#pending.isPending) {
      return Promise.reject(new LinkClosedError('a read is already pending'));
    }
    if (this.readError) return Promise.reject(this.readError);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    const chunk = this.#take();
    if (chunk !== undefined) return Promise.resolve(chunk);
    // The pulled bytes may have been invalid.
    if (this.readError) return Promise.reject(this.readError);
    if (this.readEnded) return Promise.resolve(undefined);
    if (this.#failure && !this.isPullPaused) return Promise.reject(this.#failure);
    return this.#pending.wait(signal);
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) (this.#unread ??= []).push(chunk);
  }

  takeAhead(): Uint8Array | undefined {
    return this.#take();
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

  writeOutput(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    let full: Promise<void> | undefined;
    for (const chunk of chunks) {
      // All but the last promise would be the same one, or would have rejected.
      full = this.write(chunk, isOwned);
      if (this.writeError || this.writeEnded) break;
    }
    return full;
  }

  closeWrite(): Promise<void> {
    if (this.writeEnded) return Promise.resolve();
    if (this.writeError) return Promise.reject(this.writeError);
    this.writeEnded = true;
    this.finish();
    this.settle();
    return Promise.resolve();
  }

  destroy(cause?: Error): void {
    const truncates = cause !== undefined || !this.writeEnded;
    if (this.#isOver) {
      if ((truncates && this.#linger) || (cause && this.#reset)) this.abandon();
      this.dropUnread();
      return;
    }
    this.stopReading(truncates);
    if (truncates) this.abandon();
    else this.linger();
    this.failAll(cause ?? LINK_CLOSED, cause);
  }

  resetAfterData(cause: Error): void {
    if (this.#isOver) {
      this.destroy(cause);
      return;
    }
    this.failAll(cause, cause);
    this.#reset = new DelayedReset(
      this.#clock,
      () => this.undelivered,
      () => {
        this.stopReading(true);
        this.abandon();
      },
    );
  }

  /** The core has bytes to be read, or the end of the stream. */
  onReadable(): void {
    this.#answerRead();
  }

  #answerRead(): void {
    if (!this.#pending.isPending) return;
    const chunk = this.#take();
    if (chunk !== undefined || this.readEnded) this.#pending.resolve(chunk);
    else if (this.#failure && !this.isPullPaused) this.#pending.reject(this.#failure);
  }

  /** The core has room again. */
  onWritable(): void {
    const room = this.#room;
    this.#room = undefined;
    room?.resolve();
  }

  protected failReads(error: Error): void {
    this.readError ??= error;
    this.#unread = undefined;
    this.#pending.reject(this.readError);
  }

  protected failWrites(cause: Error): void {
    this.writeError ??= cause;
    const room = this.#room;
    this.#room = undefined;
    // No writer need be waiting for the room.
    room?.promise.catch(() => undefined);
    room?.reject(this.writeError);
  }

  /** The peer has failed: what it had sent can still be read. */
  protected failByPeer(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = error;
    this.failWrites(error);
    this.#answerRead();
    this.#resolveClosed(error);
  }

  /** After a failure of the peer: nothing reads what it had sent. */
  protected dropUnread(): void {
    if (!this.#failure || this.readError) return;
    this.stopReading(true);
    this.failReads(this.#failure);
  }

  /** Ends both directions. @param cause what `closed` resolves with. */
  protected failAll(error: Error, cause: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.failReads(error);
    this.failWrites(error);
    this.#resolveClosed(cause);
  }

  /**
   * Resolves `closed` when both directions have ended without a failure of the whole, and lingers.
   * @returns whether it was resolved by this call.
   */
  protected settle(cause?: Error): boolean {
    const isReadOver = this.readEnded || this.readError !== undefined;
    if (this.#isOver || !isReadOver || !this.isWriteOver) return false;
    this.#isOver = true;
    if (this.writeError === undefined) this.linger();
    this.#resolveClosed(cause);
    return true;
  }

  /** Watches what is left to be sent, which the owner of the link no longer sees. */
  protected linger(): void {
    if (!this.#linger) this.#watch(this.#clock.now());
  }

  protected stopLinger(): void {
    this.#linger?.cancel();
    this.#linger = undefined;
    this.#reset?.cancel();
    this.#reset = undefined;
  }

  /** @param takenAt when the peer has taken something last, in milliseconds. */
  #watch(takenAt: number): void {
    if (!this.isUnfinished) return;
    const { untaken } = this;
    this.#linger = this.#clock.after(this.#lingerMs, () => {
      this.#linger = undefined;
      const now = this.#clock.now();
      if (this.untaken < untaken) this.#watch(now);
      else if (this.mayPause(now - takenAt)) this.#watch(takenAt);
      else this.abandon();
    });
  }

  /** Bytes that were put back, or those of the core. */
  #take(): Uint8Array | undefined {
    const back = this.#unread?.pop();
    if (back !== undefined) return back;
    return this.readEnded || this.readError ? undefined : this.pull();
  }
}
