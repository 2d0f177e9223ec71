import { DAY_MS } from '@weir/base/text/amounts';
import type { Reset } from './spec.ts';

/** 1970-01-05, the first Monday of Unix time. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** Returns the start and the end of the period that `at` is in, in UTC; from 0 to `Infinity` for `never`. Unix milliseconds. */
function periodOf(reset: Reset, at: number): readonly [start: number, end: number] {
  switch (reset) {
    case 'never':
      return [0, Infinity];
    case 'daily':
      return spanOf(DAY_MS, at, 0);
    case 'weekly':
      return spanOf(7 * DAY_MS, at, FIRST_MONDAY_MS);
    case 'monthly': {
      const [year, month] = [new Date(at).getUTCFullYear(), new Date(at).getUTCMonth()];
      return [Date.UTC(year, month), Date.UTC(year, month + 1)];
    }
    default:
      return reset satisfies never;
  }
}

function spanOf(length: number, at: number, first: number): readonly [start: number, end: number] {
  const start = Math.floor((at - first) / length) * length + first;
  return [start, start + length];
}

export const periodStart = (reset: Reset, at: number): number => periodOf(reset, at)[0];

export const periodEnd = (reset: Reset, at: number): number => periodOf(reset, at)[1];

/** Whether the period that starts at `period` has ended. */
export const hasEnded = (reset: Reset, period: number, now: number): boolean =>
  periodStart(reset, now) > period;
