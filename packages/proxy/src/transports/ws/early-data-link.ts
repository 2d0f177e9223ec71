import { LinkClosedError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { unlessAborted } from '@weir/io/time';

/** Opens the underlying link, optionally with early data in the opening request. */
type Open = (early: Uint8Array | undefined, signal: AbortSignal) => Promise<ByteLink>;

/**
 * A link that is opened by its first write, so that the written bytes are sent in the request. If they exceed the
 * limit, all of them are sent after the opening.
 */
export class EarlyDataLink implements ByteLink {
  readonly closed: Promise<Error | undefined>;
  readonly #limit: number;
  readonly #open: Open;
  readonly #lower: ByteLink;
  readonly #abort = new AbortController();
  readonly #resolveClosed: (cause: Error | undefined | Promise<Error | undefined>) => void;
  readonly #opened = Promise.withResolvers<ByteLink>();
  /** The open link; `undefined` before. */
  #inner: ByteLink | undefined;
  /** Whether the link is open and all earlier writes have been passed on. */
  #caughtUp = false;
  #started = false;
  /** Writes from before the link was open, in order. */
  #tail: Promise<void> | undefined;
  #error: Error | undefined;
  #reading = false;

  /** @param lower the connection on which the link is opened; if it closes before that, the link fails. */
  constructor(limit: number, open: Open, lower: ByteLink) {
    this.#limit = limit;
    this.#open = open;
    this.#lower = lower;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    // A rejection that no reader waits for must not be unhandled.
    this.#opened.promise.catch(() => undefined);
    void lower.closed.then(() => this.#onClose());
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (this.#inner) return this.#inner.read(signal);
    if (this.#reading) throw new LinkClosedError('a read is already pending');
    this.#reading = true;
    try {
      return (await unlessAborted(this.#opened.promise, signal)).read(signal);
    } finally {
      this.#reading = false;
    }
  }

  unread(chunk: Uint8Array): void {
    if (!this.#inner) throw new RangeError('nothing was read that could be put back');
    this.#inner.unread(chunk);
  }

  write(chunk: Uint8Array, isOwned?: boolean): Promise<void> | undefined {
    return this.#inner && this.#caughtUp
      ? this.#inner.write(chunk, isOwned)
      : this.writeOutput([chunk]);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned?: boolean): Promise<void> | undefined {
    if (this.#inner && this.#caughtUp) return this.#inner.writeOutput(chunks, isOwned);
    if (this.#error) return Promise.reject(this.#error);
    if (this.#started) return this.#later((inner) => inner.writeOutput(chunks));
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (length === 0) return undefined;
    if (length > this.#limit) {
      this.#start(undefined);
      return this.#later((inner) => inner.writeOutput(chunks));
    }
    this.#start(Buffer.concat(chunks));
    return this.#later(() => undefined);
  }

  closeWrite(): Promise<void> {
    if (this.#inner && this.#caughtUp) return this.#inner.closeWrite();
    if (this.#error) return Promise.reject(this.#error);
    if (!this.#started) this.#start(undefined);
    return this.#later((inner) => inner.closeWrite());
  }

  destroy(cause?: Error): void {
    if (this.#inner) {
      this.#inner.destroy(cause);
      return;
    }
    this.#fail(cause ?? new LinkClosedError(), cause);
  }

  resetAfterData(cause: Error): void {
    if (this.#inner) this.#inner.resetAfterData(cause);
    else this.destroy(cause);
  }

  #start(early: Uint8Array | undefined): void {
    this.#started = true;
    this.#open(early, this.#abort.signal).then(
      (inner) => {
        if (this.#error) {
          inner.destroy(this.#error);
          return;
        }
        this.#inner = inner;
        this.#opened.resolve(inner);
        this.#resolveClosed(inner.closed);
      },
      (error: Error) => this.#fail(error, error),
    );
  }

  #later(work: (inner: ByteLink) => Promise<void> | undefined): Promise<void> {
    const before = this.#tail ?? this.#opened.promise;
    const mine = before.then(async () => {
      await work(await this.#opened.promise);
      if (this.#tail === mine) this.#caughtUp = true;
    });
    this.#tail = mine;
    return mine;
  }

  #fail(error: Error, cause: Error | undefined): void {
    if (this.#error) return;
    this.#error = error;
    this.#opened.reject(error);
    this.#abort.abort(error);
    this.#lower.destroy();
    this.#resolveClosed(cause);
  }

  #onClose(): void {
    // The opening detects a failure itself.
    if (this.#started) return;
    const error = new LinkClosedError('the connection ended before it was used');
    this.#fail(error, error);
  }
}
