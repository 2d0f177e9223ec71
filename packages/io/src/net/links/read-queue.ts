import { LinkClosedError } from '../errors.ts';
import { abortReason } from '../time/unless-aborted.ts';

/**
 * The receiving half of a link: a queue of items with one consumer.
 *
 * It implements the parts of the ByteLink contract that every implementation shares: one pending
 * read, and items before the end of the stream or a failure of the peer.
 */
export class ReadQueue<T> {
  readonly #items: T[] = [];
  readonly #pending = new PendingRead<T>();
  #ended = false;
  #error: Error | undefined;
  /** The failure that follows the items. */
  #failure: Error | undefined;

  /** Number of items in the queue. */
  get size(): number {
    return this.#items.length;
  }

  /** Whether a take is pending: the next item is then passed on at once. */
  get wanted(): boolean {
    return this.#pending.isPending;
  }

  /** Whether the queue has ended or failed. */
  get finished(): boolean {
    return this.#ended || this.#error !== undefined;
  }

  /** Appends an item; ignored after the end or a failure. */
  push(item: T): void {
    if (this.finished) return;
    if (this.#pending.isPending) this.#pending.resolve(item);
    else this.#items.push(item);
  }

  /** Puts an item back in front, even after the end. */
  unshift(item: T): void {
    this.#items.unshift(item);
  }

  /** Ends the queue; queued items can still be taken. @param failure the error of takes after them. */
  end(failure?: Error): void {
    if (this.finished) return;
    this.#ended = true;
    this.#failure = failure;
    if (failure) this.#pending.reject(failure);
    else this.#pending.resolve(undefined);
  }

  /** Drops queued items and rejects the pending take and every later one. */
  fail(error: Error): void {
    if (this.#error) return;
    this.#error = error;
    this.#items.length = 0;
    this.#pending.reject(error);
  }

  /** Returns the next item; `undefined` at the end. An aborted take loses no item. */
  take(signal?: AbortSignal): Promise<T | undefined> {
    if (this.wanted) return Promise.reject(new LinkClosedError('a read is already pending'));
    if (this.#error) return Promise.reject(this.#error);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (this.#items.length > 0) return Promise.resolve(this.#items.shift());
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#ended) return Promise.resolve(undefined);
    return this.#pending.wait(signal);
  }
}

/**
 * The one read of a link that may be pending. It settles once, and aborting its signal rejects it
 * without loss of data: an item is taken only for a read that `isPending`.
 */
export class PendingRead<T> {
  #resolve: ((item: T | undefined) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;
  #signal: AbortSignal | undefined;
  #onAbort: (() => void) | undefined;

  get isPending(): boolean {
    return this.#resolve !== undefined;
  }

  /** Begins to wait for `resolve` or `reject`; no other read may be pending, nor `signal` be aborted. */
  wait(signal: AbortSignal | undefined): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (!signal) return;
      this.#signal = signal;
      this.#onAbort = () => this.reject(abortReason(signal));
      signal.addEventListener('abort', this.#onAbort, { once: true });
    });
  }

  /** @param item `undefined` at the end of the stream. */
  resolve(item: T | undefined): void {
    const resolve = this.#resolve;
    this.#clear();
    resolve?.(item);
  }

  reject(error: Error): void {
    const reject = this.#reject;
    this.#clear();
    reject?.(error);
  }

  #clear(): void {
    if (this.#onAbort) this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#resolve = this.#reject = this.#signal = this.#onAbort = undefined;
  }
}
