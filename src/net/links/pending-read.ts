import { abortReason } from '../time/unless-aborted.ts';

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
