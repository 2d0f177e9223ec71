/*
 * Periods of UTC by their numbers: hours and days since 1970-01-01, months since January of the year 0.
 */

import { HOUR_MS } from '@weir/base/text/amounts';

const HOURS_A_DAY = 24;

/** Lengths of the periods that sums are kept of. */
export const UNITS = ['hours', 'days', 'months'] as const;
export type Unit = (typeof UNITS)[number];

/** Returns the number of the hour of a time in Unix milliseconds. */
export const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

/** Returns the first hour of a period. */
export function firstHour(unit: Unit, number: number): number {
  switch (unit) {
    case 'hours':
      return number;
    case 'days':
      return number * HOURS_A_DAY;
    case 'months':
      // Not `Date.UTC(year, …)`, which takes years below 100 as those of the twentieth century.
      return hourOf(new Date(0).setUTCFullYear(Math.floor(number / 12), number % 12, 1));
    default:
      return unit satisfies never;
  }
}

/** Returns the number of the period that an hour is in. */
export function numberOf(unit: Unit, hour: number): number {
  switch (unit) {
    case 'hours':
      return hour;
    case 'days':
      return Math.floor(hour / HOURS_A_DAY);
    case 'months': {
      const date = new Date(hour * HOUR_MS);
      return date.getUTCFullYear() * 12 + date.getUTCMonth();
    }
    default:
      return unit satisfies never;
  }
}

/** Consecutive periods of one length; `last` included. */
export interface Periods {
  readonly unit: Unit;
  readonly first: number;
  readonly last: number;
}

/** Returns the fewest periods that cover the hours from `from` to `until`, the latter excluded. */
export function periodsIn(
  from: number,
  until: number,
  units: readonly Unit[] = ['months', 'days', 'hours'],
): readonly Periods[] {
  const [unit, ...smaller] = units;
  if (from >= until || unit === undefined) return [];
  const at = numberOf(unit, from);
  const first = firstHour(unit, at) === from ? at : at + 1;
  const end = numberOf(unit, until);
  const start = firstHour(unit, first);
  // None of this length is within the hours.
  if (first >= end) return periodsIn(from, until, smaller);
  return [
    { unit, first, last: end - 1 },
    ...periodsIn(from, start, smaller),
    ...periodsIn(firstHour(unit, end), until, smaller),
  ];
}
