import { asError } from '../../errors.ts';
import { LinkClosedError } from '../errors.ts';
import type { ByteLink } from './link.ts';

/** The reading half, and the failures, of ByteLinks that decode what a link below receives. */
export abstract class DecodedLink {
  protected readonly lower: ByteLink;
  /** Decoded chunks, and those that were put back. */
  protected readonly items: Uint8Array[] = [];
  /** The half-close of this side, once it has begun. */
  protected closing: Promise<void> | undefined;
  /** The error of later reads and writes, once both directions have ended. */
  protected error: Error | undefined;
  /** What `closed` resolves with, when there is an `error`; `undefined` after a `destroy` without a cause. */
  protected closedCause: Error | undefined;
  /** Pending while the link below queues responses of the decoder: no more is read, so that they are bounded. */
  protected responding: Promise<void> | undefined;
  /**
   * Whether the peer has failed. It is told by an alert or a Close frame, or has ended the link below: that
   * is closed then as other servers close it, and not reset, by which a prober would tell them apart.
   */
  protected hasFailed = false;
  /** Whether a read waits for the peer. */
  protected isReading = false;
  /** How the peer has failed after what is in `items`. */
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

  /** The link below delivers what was written to it. */
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

  /** What a write rejects with that is not `isWritable`. */
  protected get closedError(): Error {
    return this.error ?? new LinkClosedError();
  }

  /** What is to be decoded next, of the link below. */
  protected nextChunk(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    return this.lower.read(signal);
  }

  /** The peer has failed after what is in `items`, which is read first. */
  protected failAfterItems(error: Error): void {
    this.#failure ??= error;
  }

  /** The peer, or the link below, has failed. */
  protected failWith(error: Error): void {
    this.hasFailed = true;
    this.endBoth(error, error);
  }

  /** Ends both directions. @param cause what `closed` resolves with. */
  protected endBoth(error: Error, cause: Error | undefined): void {
    this.error = error;
    this.closedCause = cause;
    this.items.length = 0;
    this.closeLower(cause);
  }
}
