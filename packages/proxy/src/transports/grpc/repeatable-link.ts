import { type Clock, Deadline, abortReason, unlessAborted } from '@weir/io/time';
import { asError } from '@weir/base';
import { LinkClosedError } from '@weir/io';
import type { ByteLink, WireCounter } from '@weir/io/links';
import { UPGRADE_MS } from '../limits.ts';

/** Sent bytes that are kept until the server responds: they suffice for protocol requests and first payloads. */
export const KEPT_BYTES = 64 << 10;

/** Number of calls made for one link before a refusal is final. */
const CALLS = 3;

/** One call of a tunnel method. */
export interface GrpcCall {
  readonly link: ByteLink;
  readonly wire: WireCounter;
  /**
   * Resolves to whether the server has processed nothing of the call: it refused the call, or did not process it before
   * its GOAWAY. Resolves at the response, or at the end of the call.
   */
  readonly refused: Promise<boolean>;
  /** Called after each write, if the server's silence is to be detected soon. */
  readonly onWritten?: (() => void) | undefined;
}

/**
 * A tunnel that repeats a refused call with the same bytes on another connection, which is safe (RFC 9113 §8.7).
 * Servers refuse calls that arrive after they have sent a GOAWAY: when they are reloaded, and nginx after every
 * thousandth request.
 */
export class RepeatableLink implements ByteLink, WireCounter {
  readonly closed: Promise<Error | undefined>;
  readonly #clock: Clock;
  readonly #again: (signal: AbortSignal) => Promise<GrpcCall>;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #current: GrpcCall;
  /** Resolves to whether another call has replaced the current one. */
  #replaced: Promise<boolean>;
  /** The bytes sent so far; `undefined` once the call can no longer be repeated. */
  #kept: Uint8Array[] | undefined = [];
  #keptBytes = 0;
  #ended = false;
  /** The time limit of the call that is to replace a refused one. */
  #repeating: Deadline | undefined;
  #isDestroyed = false;
  /** The error that the link was destroyed with, if any. */
  #cause: Error | undefined;
  #calls = 1;
  #failure: Error | undefined;
  /** Wire bytes of refused calls. */
  #readBefore = 0;
  #writtenBefore = 0;

  /** @param again makes another call; rejects with the reason of its signal. */
  constructor(first: GrpcCall, again: (signal: AbortSignal) => Promise<GrpcCall>, clock: Clock) {
    this.#clock = clock;
    this.#again = again;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    this.#current = first;
    this.#replaced = this.#replace(first);
  }

  get bytesRead(): number {
    return this.#readBefore + this.#current.wire.bytesRead;
  }

  get bytesWritten(): number {
    return this.#writtenBefore + this.#current.wire.bytesWritten;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    const read = this.#current.link.read(signal);
    if (!this.#kept) return read;
    const replaced = this.#replaced;
    return read.catch((error: unknown) => {
      if (signal?.aborted) throw abortReason(signal);
      return this.#readAgain(replaced, error, signal);
    });
  }

  unread(chunk: Uint8Array): void {
    this.#current.link.unread(chunk);
  }

  write(chunk: Uint8Array, isOwned?: boolean): Promise<void> | undefined {
    // The bytes must be kept, since they may be sent again.
    if (this.#kept || this.#ended) return this.writeOutput([chunk]);
    this.#current.onWritten?.();
    return this.#current.link.write(chunk, isOwned);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned?: boolean): Promise<void> | undefined {
    this.#current.onWritten?.();
    // After the end the write rejects, and must not be repeated.
    if (!this.#kept || this.#ended) return this.#current.link.writeOutput(chunks, isOwned);
    for (const chunk of chunks) this.#keptBytes += chunk.length;
    // Bytes written while the call is repeated have not been sent yet, and their writers wait.
    if (this.#keptBytes <= KEPT_BYTES || this.#repeating) this.#kept.push(...chunks);
    else this.#forget();
    const replaced = this.#replaced;
    return this.#current.link
      .writeOutput(chunks)
      ?.catch((error: unknown) => this.#unlessReplaced(replaced, error));
  }

  closeWrite(): Promise<void> {
    this.#ended = true;
    const replaced = this.#replaced;
    return this.#current.link
      .closeWrite()
      .catch((error: unknown) => this.#unlessReplaced(replaced, error));
  }

  destroy(cause?: Error): void {
    this.#end(cause);
    this.#current.link.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#end(cause);
    this.#current.link.resetAfterData(cause);
  }

  #end(cause: Error | undefined): void {
    this.#forget();
    this.#isDestroyed = true;
    this.#cause ??= cause;
    // Many calls may end at once: an error is created only if something is rejected with it.
    this.#repeating?.abort(this.#destroyedError());
  }

  async #readAgain(
    replaced: Promise<boolean>,
    error: unknown,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    await unlessAborted(this.#unlessReplaced(replaced, error), signal);
    return this.read(signal);
  }

  /** Throws the error of an operation, unless another call was made that repeats the operation. */
  async #unlessReplaced(replaced: Promise<boolean>, error: unknown): Promise<void> {
    if (this.#isDestroyed || !(await replaced)) throw this.#failure ?? error;
  }

  /**
   * Makes the next call after a refusal. Uses callbacks: the frame of an async function would be kept until the server
   * responds.
   */
  #replace(call: GrpcCall): Promise<boolean> {
    return call.refused.then((refused) => {
      if (refused && this.#kept && this.#calls < CALLS) return this.#repeat(call);
      this.#forget();
      void call.link.closed.then(this.#resolveClosed);
      return false;
    });
  }

  async #repeat(call: GrpcCall): Promise<boolean> {
    this.#calls++;
    using deadline = new Deadline(this.#clock, UPGRADE_MS, 'repeating a refused call');
    this.#repeating = deadline;
    try {
      this.#follow(call, await this.#again(deadline.signal));
      return true;
    } catch (error) {
      this.#forget();
      this.#failure = this.#isDestroyed ? this.#destroyedError() : asError(error);
      this.#resolveClosed(this.#failure);
      return false;
    } finally {
      this.#repeating = undefined;
    }
  }

  /** Sends the kept bytes on the next call. They are few, so writers do not wait. */
  #follow(old: GrpcCall, next: GrpcCall): void {
    this.#readBefore += old.wire.bytesRead;
    this.#writtenBefore += old.wire.bytesWritten;
    this.#current = next;
    this.#replaced = this.#replace(next);
    // A failure is reported by reads and later writes.
    next.link.writeOutput(this.#kept ?? [])?.catch(() => undefined);
    if (this.#keptBytes > KEPT_BYTES) this.#forget();
    if (this.#ended) next.link.closeWrite().catch(() => undefined);
    if (this.#isDestroyed) next.link.destroy(this.#cause);
  }

  #destroyedError(): Error {
    return this.#cause ?? new LinkClosedError();
  }

  #forget(): void {
    this.#kept = undefined;
  }
}
