import { asError } from '@weir/base';
import { LinkClosedError } from '../errors.ts';
import type { ByteLink } from './link.ts';
import { type Clock, FIRST_PAYLOAD_MS, type Timer } from '../time/clock.ts';

/** The reading half, and the failures, of ByteLinks that decode the data of a link below. */
export abstract class DecodedLink {
  protected readonly lower: ByteLink;
  /** Decoded chunks, and those put back by `unread`. */
  protected readonly items: Uint8Array[] = [];
  /** The half-close of this side, once it has begun. */
  protected closing: Promise<void> | undefined;
  /** The error of later reads and writes, once both directions have ended. */
  protected error: Error | undefined;
  /** The cause that `closed` resolves with, when there is an `error`; `undefined` after a `destroy` without a cause. */
  protected closedCause: Error | undefined;
  /** Pending while the link below queues responses of the decoder: nothing is read meanwhile, which bounds them. */
  protected responding: Promise<void> | undefined;
  /**
   * Whether the peer has failed. It receives an alert or a Close frame, or has ended the link below, which is then
   * closed as other servers close it: a reset would identify this one to a prober.
   */
  protected hasFailed = false;
  /** Whether a read waits for the peer. */
  protected isReading = false;
  /** The failure of the peer after the chunks in `items`. */
  #failure: Error | undefined;

  constructor(lower: ByteLink) {
    this.lower = lower;
  }

  /** Whether the peer has ended its side. */
  protected abstract get hasEnded(): boolean;

  /** Decodes a chunk into `items`. @param chunk `undefined` at the end of the link below. */
  protected abstract decode(chunk: Uint8Array | undefined): void;

  /** Sends the end of this side. */
  protected abstract sendEnd(): Promise<void>;

  /** Closes the link below, once `error` is set. */
  protected abstract closeLower(cause: Error | undefined): void;

  abstract destroy(cause?: Error): void;

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (this.isReading) throw new LinkClosedError('a read is already pending');
    this.isReading = true;
    try {
      while (this.items.length === 0 && !this.hasEnded && !this.error) {
        if (this.#failure) {
          this.failWith(this.#failure);
          break;
        }
        if (this.responding) await this.responding;
        const chunk = await this.nextChunk(signal);
        if (!this.error) this.decode(chunk);
      }
    } catch (error) {
      // All that the link below had received before its failure has been read.
      if (!signal?.aborted && !this.error) this.endBoth(asError(error), asError(error));
      throw this.error ?? error;
    } finally {
      this.isReading = false;
    }
    if (this.error) throw this.error;
    signal?.throwIfAborted();
    return this.items.shift();
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.items.unshift(chunk);
  }

  takeAhead(): Uint8Array | undefined {
    return this.items.shift();
  }

  closeWrite(): Promise<void> {
    if (this.closing) return this.closing;
    if (this.error) return Promise.reject(this.error);
    this.closing = this.sendEnd();
    return this.closing;
  }

  /** Resets the link below after it has delivered everything written to it. */
  resetAfterData(cause: Error): void {
    if (this.error) {
      this.destroy(cause);
      return;
    }
    this.closing?.catch(() => undefined);
    this.error = cause;
    this.closedCause = cause;
    this.items.length = 0;
    this.lower.resetAfterData(cause);
  }

  protected get isWritable(): boolean {
    return !this.closing && !this.error;
  }

  /** The error of a write when the link is not `isWritable`. */
  protected get closedError(): Error {
    return this.error ?? new LinkClosedError();
  }

  /** Reads the next chunk to decode from the link below. */
  protected nextChunk(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    return this.lower.read(signal);
  }

  /** Records a failure of the peer; `items` are read before it takes effect. */
  protected failAfterItems(error: Error): void {
    this.#failure ??= error;
  }

  /** Ends both directions after a failure of the peer or of the link below. */
  protected failWith(error: Error): void {
    this.hasFailed = true;
    this.endBoth(error, error);
  }

  /** Ends both directions. @param cause the value that `closed` resolves with. */
  protected endBoth(error: Error, cause: Error | undefined): void {
    this.error = error;
    this.closedCause = cause;
    this.items.length = 0;
    this.closeLower(cause);
  }
}

/**
 * A link that sends `greeting` before the first payload, and in one write with it: a header on its
 * own would cost a packet and be recognizable by its length.
 *
 * With a `clock` the greeting is sent alone when there is no payload within FIRST_PAYLOAD_MS, since
 * in some protocols the server sends first. Without a `clock` it waits for the first payload. A half-close
 * sends it in any case.
 */
export class GreetingLink implements ByteLink {
  readonly #inner: ByteLink;
  #greeting: Uint8Array | undefined;
  #timer: Timer | undefined;

  constructor(inner: ByteLink, greeting: Uint8Array, clock?: Clock) {
    this.#inner = inner;
    this.#greeting = greeting;
    if (clock) this.greetSoon(clock);
  }

  /** Sends the greeting after FIRST_PAYLOAD_MS at the latest. */
  greetSoon(clock: Clock): void {
    if (this.#greeting === undefined || this.#timer) return;
    this.#timer = clock.after(FIRST_PAYLOAD_MS, () => {
      // A failed link reports its error to its readers and writers.
      this.#greet()?.catch(() => undefined);
    });
    void this.#inner.closed.then(() => this.#takeGreeting());
  }

  get closed(): Promise<Error | undefined> {
    return this.#inner.closed;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#inner.read(signal);
  }

  unread(chunk: Uint8Array): void {
    this.#inner.unread(chunk);
  }

  takeAhead(): Uint8Array | undefined {
    return this.#inner.takeAhead?.();
  }

  write(chunk: Uint8Array, isOwned?: boolean): Promise<void> | undefined {
    return this.#greeting === undefined
      ? this.#inner.write(chunk, isOwned)
      : this.writeOutput([chunk]);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned?: boolean): Promise<void> | undefined {
    const greeting = this.#takeGreeting();
    // Not passed as OWNED: the greeting may be in use elsewhere.
    return greeting
      ? this.#inner.writeOutput([greeting, ...chunks])
      : this.#inner.writeOutput(chunks, isOwned);
  }

  closeWrite(): Promise<void> {
    const full = this.#greet();
    return full ? full.then(() => this.#inner.closeWrite()) : this.#inner.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#takeGreeting();
    this.#inner.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#takeGreeting();
    this.#inner.resetAfterData(cause);
  }

  #greet(): Promise<void> | undefined {
    const greeting = this.#takeGreeting();
    return greeting && this.#inner.write(greeting);
  }

  #takeGreeting(): Uint8Array | undefined {
    const greeting = this.#greeting;
    this.#greeting = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    return greeting;
  }
}
