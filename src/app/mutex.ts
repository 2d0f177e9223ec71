import { unlessAborted } from '../net/time/unless-aborted.ts';

/** Admits one caller at a time, in the order of their calls. */
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
    try {
      await unlessAborted(before, signal);
      signal?.throwIfAborted(); // both may come in the same turn
      return resolve;
    } catch (error) {
      // The next in the queue still waits for the one before.
      void before.then(resolve);
      throw error;
    }
  }
}
