import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from './clock.ts';
import { Fifo } from '@weir/base/collections';
import { inNextTurn, type Defer } from './turn-loop.ts';

/**
 * Work in steps of a fraction of a millisecond, with a result: for `Turns.run`, which spreads it over turns of the
 * event loop, or `atOnce`.
 */
export type Steps<T> = Generator<void, T, void>;

/** Runs all steps at once, for work of few steps. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Milliseconds that work may run before it yields. */
const STRETCH_MS = 8;

/** Splits long work into turns of a few milliseconds, between which the event loop runs. */
export class Turns {
  readonly #clock: Clock;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /** Whether it is time to yield by `next`. */
  get due(): boolean {
    return this.#clock.now() - this.#since >= STRETCH_MS;
  }

  /** Runs all steps, and yields to the event loop whenever it is `due`. Rejects with the error of a step. */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      if (this.due) await this.next();
    }
  }

  /** Waits for one turn of the event loop. */
  async next(): Promise<void> {
    await turn();
    this.#since = this.#clock.now();
  }
}

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
