import { unlessAborted } from '@weir/io/time';

/** A mutex that admits callers in the order of their calls. */
export class Mutex {
  #last: Promise<void> = Promise.resolve();

  /**
   * Waits until no earlier caller holds the mutex, and returns the function that releases it.
   * @throws the signal's reason when it aborts first
   */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await unlessAborted(before, signal);
      signal?.throwIfAborted(); // both may happen in one turn of the event loop
      return resolve;
    } catch (error) {
      // The next caller still has to wait for the previous one.
      void before.then(resolve);
      throw error;
    }
  }
}
