import { LinkClosedError } from '../errors.ts';
import { abortReason } from '../time/unless-aborted.ts';
import { PendingRead } from './pending-read.ts';

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
