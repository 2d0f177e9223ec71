import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from './clock.ts';

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
