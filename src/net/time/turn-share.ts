import { Fifo } from '../../collections/fifo.ts';
import { inNextTurn, type Defer } from './turn-loop.ts';

/**
 * Limits the pieces of work done in one turn of the event loop, by all users together. Promises that settle at once
 * never return to the event loop: without a bound, a loop over received data would run until none is left, and
 * everything else would wait.
 *
 * Work beyond the limit is done in later turns, in the order of its requests.
 */
export class TurnShare {
  readonly #limit: number;
  readonly #later: Defer;
  readonly #waiting = new Fifo<() => void>();
  #left: number;
  #isScheduled = false;

  /** @param limit pieces of work of one turn, at least 1. */
  constructor(limit: number, later: Defer = inNextTurn) {
    this.#limit = limit;
    this.#left = limit;
    this.#later = later;
  }

  /** Takes one piece of this turn; returns a promise of a piece in a later turn when none is left. */
  take(): Promise<void> | undefined {
    this.#schedule();
    if (this.#left > 0) {
      this.#left--;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#later(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    this.#isScheduled = false;
    this.#left = this.#limit;
    while (this.#left > 0 && this.#waiting.size > 0) {
      this.#left--;
      this.#waiting.shift()?.();
    }
    // The tasks released here use the share of this turn; the next one is for others.
    if (this.#left === 0) this.#schedule();
  };
}
