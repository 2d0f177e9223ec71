import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from './clock.ts';

/** How long work may go on at a stretch, in milliseconds. */
const STRETCH_MS = 8;

/** Lets long work give way to everything else in the process every few milliseconds. */
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

  /** Waits until everything else has had its turn. */
  async next(): Promise<void> {
    await turn();
    this.#since = this.#clock.now();
  }
}
