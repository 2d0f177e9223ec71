import { abortReason } from '../net/read-queue.ts';

/** Lets one at a time through, in the order of asking. */
export class Mutex {
  #last: Promise<void> = Promise.resolve();

  /**
   * Waits for its turn, which lasts until the returned function is called.
   * @throws the signal's reason when it aborts before that.
   */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(abortReason(signal as AbortSignal)); // only where there is one
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([before, aborted]);
      return resolve;
    } catch (error) {
      // Whoever waits behind still waits for the one before.
      void before.then(resolve);
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }
}
