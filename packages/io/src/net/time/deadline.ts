import type { Clock, Timer } from './clock.ts';
import { DeadlineError } from '../errors.ts';

/**
 * A time limit for a whole exchange (a handshake, a dial): `signal` aborts with a DeadlineError when
 * it passes, or with the reason of `parent` when that aborts. Dispose of it when the exchange ends.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: Timer;
  readonly #parent: AbortSignal | undefined;
  readonly #onParent: (() => void) | undefined;

  constructor(clock: Clock, milliseconds: number, what: string, parent?: AbortSignal) {
    this.#parent = parent;
    this.#timer = clock.after(milliseconds, () => {
      this.#controller.abort(
        new DeadlineError(`${what} took longer than ${milliseconds / 1000} s`),
      );
    });
    if (!parent) return;
    if (parent.aborted) this.#controller.abort(parent.reason);
    else {
      this.#onParent = () => this.#controller.abort(parent.reason);
      parent.addEventListener('abort', this.#onParent, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts `signal` for a reason other than the time limit. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#timer.cancel();
    if (this.#onParent) this.#parent?.removeEventListener('abort', this.#onParent);
  }
}
