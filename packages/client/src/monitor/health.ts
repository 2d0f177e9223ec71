import type { Monitor } from './contract.ts';
import type { HealthWord } from './health-word.ts';

export interface HealthReport {
  readonly word: HealthWord;
  /** Reason in one sentence; '' for `Serving`. */
  readonly why: string;
}

/** Minimum milliseconds for which missed events determine the word. */
const BEHIND_MS = 10_000;

/** Derives the health of a Weir from its monitor. */
export class HealthWatch {
  readonly #monitor: Monitor;
  #missed: number;
  #missedAt = -Infinity;

  constructor(monitor: Monitor) {
    this.#monitor = monitor;
    this.#missed = monitor.missed;
  }

  /** The health at a time. @param now Unix milliseconds */
  at(now: number): HealthReport {
    const { api, status, missed, listedAt } = this.#monitor;
    if (missed > this.#missed) this.#missedAt = now;
    this.#missed = missed;
    if (api.kind === 'connecting') {
      return { word: 'Connecting', why: 'the API has not answered yet' };
    }
    if (api.kind === 'absent') return { word: 'No API', why: 'the configuration has no [api]' };
    if (api.kind === 'lost') return { word: 'API lost', why: 'nothing shown is current' };
    if (status?.value.last_reload?.outcome.kind === 'failed') {
      return { word: 'Reload refused', why: 'Weir continues with the configuration before it' };
    }
    const isBehind = now - this.#missedAt < BEHIND_MS || this.#missedAt > (listedAt ?? Infinity);
    return isBehind
      ? { word: 'Behind', why: 'flow events were missed' }
      : { word: 'Serving', why: '' };
  }
}
