import type { SystemCalls } from './bindings.ts';

/**
 * The one owner of a descriptor. Its number becomes -1 when it is closed or handed over, so that a
 * second close cannot hit the descriptor that got the number next.
 */
export class Descriptor implements Disposable {
  readonly #calls: SystemCalls;
  #number: number;

  constructor(calls: SystemCalls, number: number) {
    this.#calls = calls;
    this.#number = number;
  }

  /** -1 when this is no longer the owner. */
  get number(): number {
    return this.#number;
  }

  /** Idempotent. After EINTR the descriptor is closed as well (close(2)): it is never tried again. */
  close(): void {
    const number = this.#number;
    if (number < 0) return;
    this.#number = -1;
    this.#calls.close(number);
  }

  /** Hands the descriptor over: the caller closes it. -1 when there is nothing to hand over. */
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
