import type { SystemCalls } from './bindings.ts';

/**
 * The only owner of a descriptor. Its number becomes -1 when it is closed or transferred, so that a
 * second close cannot affect a later descriptor of the same number.
 */
export class Descriptor implements Disposable {
  readonly #calls: SystemCalls;
  #number: number;

  constructor(calls: SystemCalls, number: number) {
    this.#calls = calls;
    this.#number = number;
  }

  /** The number of the descriptor; -1 after close or transfer. */
  get number(): number {
    return this.#number;
  }

  /**
   * Closes the descriptor. Idempotent. EINTR also leaves the descriptor closed (close(2)), so the call is never
   * retried.
   */
  close(): void {
    const number = this.#number;
    if (number < 0) return;
    this.#number = -1;
    this.#calls.close(number);
  }

  /** Transfers the descriptor to the caller, who closes it; -1 if there is none. */
  take(): number {
    const number = this.#number;
    if (number < 0) return -1;
    this.#number = -1;
    this.#calls.debug?.disown(number);
    return number;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
