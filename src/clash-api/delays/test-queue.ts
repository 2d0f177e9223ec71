import { unlessAborted } from '../../net/time/unless-aborted.ts';

/** A semaphore that runs a limited number of tasks concurrently; further tasks wait in order. */
export class TestQueue {
  readonly #most: number;
  #running = 0;
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs a task when its turn comes. @throws the reason of `signal` when it aborts before that */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#running >= this.#most) await this.#turn(signal);
    else this.#running++;
    try {
      signal.throwIfAborted();
      return await task();
    } finally {
      this.#next();
    }
  }

  /** Waits for a slot, which a task that ends passes on to this one. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await unlessAborted(promise, signal);
    } catch (error) {
      // The slot may have been passed on in the same turn of the event loop as the abort.
      if (!this.#waiting.delete(resolve)) this.#next();
      throw error;
    }
  }

  #next(): void {
    for (const resolve of this.#waiting) {
      this.#waiting.delete(resolve);
      resolve();
      return;
    }
    this.#running--;
  }
}
