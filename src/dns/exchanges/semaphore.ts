import { abortedDial } from '../../net/errors.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';

/** A semaphore whose permits its connection counts: questions wait in FIFO order until it can accept another one. */
export class Semaphore {
  readonly #waiting = new Set<PromiseWithResolvers<void>>();

  get length(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until `next` or `fail` reaches this question.
   * @throws {DialError} when `signal` aborts.
   */
  async wait(signal: AbortSignal): Promise<void> {
    const place = Promise.withResolvers<void>();
    this.#waiting.add(place);
    try {
      await unlessAborted(place.promise, signal, abortedDial);
    } catch (error) {
      // This question was resumed in the same turn: the next one replaces it.
      if (!this.#waiting.delete(place)) this.next();
      throw error;
    }
  }

  /** Resumes the question that has waited longest. */
  next(): void {
    const [first] = this.#waiting;
    if (!first) return;
    this.#waiting.delete(first);
    first.resolve();
  }

  /** Rejects all questions. */
  fail(error: Error): void {
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting.clear();
  }
}
