import type { SourceState } from '../files/state-file.ts';
import { DEFAULT_INTERVAL, type Source } from '../source.ts';

/** Seconds between updates of a source. */
export const intervalOf = (source: Source, state: SourceState | undefined): number =>
  source.interval ?? state?.updateInterval ?? DEFAULT_INTERVAL;

/** When a source is to be updated next, in Unix milliseconds; 0 for one that never was. */
export const dueAt = (source: Source, state: SourceState | undefined): number =>
  state?.updated === undefined ? 0 : state.updated + intervalOf(source, state) * 1000;

/** Whether a source is due; also when its last update lies in the future, as a wrong clock leaves it. */
export const isDue = (source: Source, state: SourceState | undefined, now: number): boolean =>
  dueAt(source, state) <= now || (state?.updated ?? 0) > now;
