import { unlessAborted } from '../../net/time/unless-aborted.ts';

/** Runs a bounded number of tasks at a time; the others wait for their turn. */
export class TestQueue {
  readonly #most: number;
  #running = 0;
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws the reason of `signal` when it aborts before the task's turn */
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

  /** Waits; the place of the task that ends passes to this one. */
  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await unlessAborted(promise, signal);
    } catch (error) {
      // The place may have been passed on in the turn of the event loop that aborted the wait.
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
