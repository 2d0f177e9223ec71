import { asError } from '../errors.ts';
import { LinkClosedError } from './errors.ts';

interface Waiter<T> {
  readonly resolve: (item: T | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: (() => void) | undefined;
}

/**
 * The reading half of a link: what producers push, one consumer takes, in order.
 *
 * It carries the parts of the ByteLink and PacketLink promises that every implementation shares:
 * one waiter at most, items before the end, the end for ever, a failure at once and for ever.
 */
export class ReadQueue<T> {
  readonly #items: T[] = [];
  #waiter: Waiter<T> | undefined;
  #ended = false;
  #error: Error | undefined;

  /** Items that wait for a reader. */
  get size(): number {
    return this.#items.length;
  }

  /** Whether a reader waits, so that an item pushed now is taken at once. */
  get wanted(): boolean {
    return this.#waiter !== undefined;
  }

  /** Whether the producer has said that nothing more comes, or failed. */
  get finished(): boolean {
    return this.#ended || this.#error !== undefined;
  }

  /** Appends an item; ignored after the end or a failure. */
  push(item: T): void {
    if (this.finished) return;
    const waiter = this.#takeWaiter();
    if (waiter) waiter.resolve(item);
    else this.#items.push(item);
  }

  /** Puts an item in front, even after the end: it was read before and is given back. */
  unshift(item: T): void {
    this.#items.unshift(item);
  }

  /** Nothing more comes; what is queued can still be taken. */
  end(): void {
    if (this.finished) return;
    this.#ended = true;
    this.#takeWaiter()?.resolve(undefined);
  }

  /** Drops what is queued and fails the pending take and every later one. */
  fail(error: Error): void {
    if (this.#error) return;
    this.#error = error;
    this.#items.length = 0;
    this.#takeWaiter()?.reject(error);
  }

  /** The next item, `undefined` at the end. An aborted take loses nothing. */
  take(signal?: AbortSignal): Promise<T | undefined> {
    if (this.#waiter) return Promise.reject(new LinkClosedError('a read is already pending'));
    if (this.#error) return Promise.reject(this.#error);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (this.#items.length > 0) return Promise.resolve(this.#items.shift());
    if (this.#ended) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      let onAbort: (() => void) | undefined;
      if (signal) {
        onAbort = () => this.#takeWaiter()?.reject(abortReason(signal));
        signal.addEventListener('abort', onAbort, { once: true });
      }
      this.#waiter = { resolve, reject, signal, onAbort };
    });
  }

  #takeWaiter(): Waiter<T> | undefined {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter?.onAbort) waiter.signal?.removeEventListener('abort', waiter.onAbort);
    return waiter;
  }
}

/** What an aborted wait rejects with: the signal's own reason, as an Error. */
export const abortReason = (signal: AbortSignal): Error => asError(signal.reason);
