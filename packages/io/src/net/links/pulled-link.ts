import { LINK_CLOSED, LinkClosedError } from '../errors.ts';
import { DelayedReset } from './closing.ts';
import { abortReason, type Clock, type Timer } from '../time/clock.ts';
import { PendingRead } from './read-queue.ts';

/**
 * The common part of ByteLinks over a protocol core. Received bytes stay with the core until they are read, so that a
 * reader that pauses closes the window; written bytes are queued there.
 *
 * After its end a link lingers: data written before a half-close still arrives, as over a socket, unless the peer
 * acknowledges none of it for `lingerMs`.
 */
export abstract class PulledLink {
  readonly closed: Promise<Error | undefined>;
  protected readEnded = false;
  protected writeEnded = false;
  /** The error of reads and of writes; both are set when the link has failed as a whole. */
  protected readError: Error | undefined;
  protected writeError: Error | undefined;
  readonly #clock: Clock;
  readonly #lingerMs: number;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #pending = new PendingRead<Uint8Array>();
  /** Chunks put back by `unread`, the first at the end. */
  #unread: Uint8Array[] | undefined;
  #room: PromiseWithResolvers<void> | undefined;
  /** The failure of the peer's side, reported once everything that it had sent has been read. */
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
   * @param isOwned whether the memory of the chunk may be freed once sent.
   * @returns whether the writer may continue at once; `undefined` when the core accepts no more data.
   */
  protected abstract push(chunk: Uint8Array, isOwned: boolean): boolean | undefined;

  /** Queues the end of the stream after what was written. */
  protected abstract finish(): void;

  /** Stops reading, since the link is destroyed. @param truncates whether `abandon` follows. */
  protected abstract stopReading(truncates: boolean): void;

  /** Resets the connection or stream, as far as it is open. */
  protected abstract abandon(): void;

  /** Whether data of this side remains to be sent or acknowledged; if not, the link does not linger. */
  protected abstract get isUnfinished(): boolean;

  /** Bytes that the peer has not acknowledged: the link lingers while their number falls. */
  protected abstract get untaken(): number;

  /** Number of bytes that a reset would discard. */
  protected get undelivered(): number {
    return this.untaken;
  }

  /** Whether `pull` will return more in a later turn, which `onReadable` reports. */
  protected get isPullPaused(): boolean {
    return false;
  }

  /** Whether the peer may pause for `elapsed` milliseconds since its last acknowledgement. */
  protected mayPause(_elapsed: number): boolean {
    return false;
  }

  /** Whether writing has ended, for `settle`. */
  protected get isWriteOver(): boolean {
    return this.writeEnded || this.writeError !== undefined;
  }

  /** Whether both directions have ended, and `closed` has resolved. */
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

  /** Writes a chunk. An owned one is freed when the peer has acknowledged it, before the garbage collector would. */
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
      // The promises but the last would be the same one, or have rejected.
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

  /** Called when the core has bytes to read, or the end of the stream. */
  onReadable(): void {
    this.#answerRead();
  }

  #answerRead(): void {
    if (!this.#pending.isPending) return;
    const chunk = this.#take();
    if (chunk !== undefined || this.readEnded) this.#pending.resolve(chunk);
    else if (this.#failure && !this.isPullPaused) this.#pending.reject(this.#failure);
  }

  /** Called when the core has room again. */
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
    // There may be no writer that awaits the room.
    room?.promise.catch(() => undefined);
    room?.reject(this.writeError);
  }

  /** Records a failure of the peer: data that it had sent can still be read. */
  protected failByPeer(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = error;
    this.failWrites(error);
    this.#answerRead();
    this.#resolveClosed(error);
  }

  /** After a failure of the peer: drops the unread data that it had sent. */
  protected dropUnread(): void {
    if (!this.#failure || this.readError) return;
    this.stopReading(true);
    this.failReads(this.#failure);
  }

  /** Ends both directions. @param cause the value that `closed` resolves with. */
  protected failAll(error: Error, cause: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.failReads(error);
    this.failWrites(error);
    this.#resolveClosed(cause);
  }

  /**
   * Resolves `closed` when both directions have ended without a failure of the link as a whole, and lingers.
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

  /** Supervises the unsent data, which the owner of the link no longer sees. */
  protected linger(): void {
    if (!this.#linger) this.#watch(this.#clock.now());
  }

  protected stopLinger(): void {
    this.#linger?.cancel();
    this.#linger = undefined;
    this.#reset?.cancel();
    this.#reset = undefined;
  }

  /** @param takenAt when the peer last acknowledged data, in milliseconds. */
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

  /** Returns bytes that were put back, or those of the core. */
  #take(): Uint8Array | undefined {
    const back = this.#unread?.pop();
    if (back !== undefined) return back;
    return this.readEnded || this.readError ? undefined : this.pull();
  }
}
