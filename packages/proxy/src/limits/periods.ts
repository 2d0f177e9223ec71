import type { Reset } from './spec.ts';

const DAY_MS = 86_400_000;
/** 1970-01-05, the first Monday of Unix time. */
const FIRST_MONDAY_MS = 4 * DAY_MS;
const WEEK_MS = 7 * DAY_MS;

/** Returns the start of the period that `at` is in; 0 for the only period of `never`. Unix milliseconds, in UTC. */
export function periodStart(reset: Reset, at: number): number {
  switch (reset) {
    case 'never':
      return 0;
    case 'daily':
      return Math.floor(at / DAY_MS) * DAY_MS;
    case 'weekly':
      return Math.floor((at - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
    case 'monthly':
      return monthStart(at, 0);
    default:
      return reset satisfies never;
  }
}

/** Returns the end of the period that `at` is in; `Infinity` for `never`. */
export function periodEnd(reset: Reset, at: number): number {
  switch (reset) {
    case 'never':
      return Infinity;
    case 'daily':
      return periodStart(reset, at) + DAY_MS;
    case 'weekly':
      return periodStart(reset, at) + WEEK_MS;
    case 'monthly':
      return monthStart(at, 1);
    default:
      return reset satisfies never;
  }
}

function monthStart(at: number, after: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + after);
}

/** Whether the period that starts at `period` has ended. */
export const hasEnded = (reset: Reset, period: number, now: number): boolean =>
  periodStart(reset, now) > period;
