import type { SourceState } from '../files/state-file.ts';
import { DEFAULT_INTERVAL, type Source } from '../source.ts';

/** The update interval of a source, in seconds. */
export const intervalOf = (source: Source, state: SourceState | undefined): number =>
  source.interval ?? state?.updateInterval ?? DEFAULT_INTERVAL;

/** When a source is due for an update, in Unix milliseconds; 0 if it was never updated. */
export const dueAt = (source: Source, state: SourceState | undefined): number =>
  state?.updated === undefined ? 0 : state.updated + intervalOf(source, state) * 1000;

/** Whether a source is due; also when its last update lies in the future, because of a wrong clock. */
export const isDue = (source: Source, state: SourceState | undefined, now: number): boolean =>
  dueAt(source, state) <= now || (state?.updated ?? 0) > now;
