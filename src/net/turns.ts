import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from './clock.ts';

/** How long work may run before it yields, in milliseconds. */
const STRETCH_MS = 8;

/** Splits long work into turns of a few milliseconds, between which the event loop runs. */
export class Turns {
  readonly #clock: Clock;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /** Whether it is time for `next`. */
  get due(): boolean {
    return this.#clock.now() - this.#since >= STRETCH_MS;
  }

  /** Waits for one turn of the event loop. */
  async next(): Promise<void> {
    await turn();
    this.#since = this.#clock.now();
  }
}
