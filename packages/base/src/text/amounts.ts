/*
 * Numbers in a human-readable form, for terminals and web pages: this file imports nothing, so that both can load it.
 */

/** Milliseconds. */
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Formats a number of bytes: `1.5 MB`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 99.5 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** Formats a number with its noun: `1 flow`, `12 flows`. */
export const counted = (count: number, one: string): string =>
  `${count} ${count === 1 ? one : `${one}s`}`;

/** Formats a time in milliseconds, with one decimal below 10: `3.5 ms`, `120 ms`. */
export const milliseconds = (time: number): string =>
  `${time < 10 ? time.toFixed(1) : Math.round(time)} ms`;

/**
 * Formats a day in UTC: `2026-11-24`; `?` where the number is no time, since providers send any.
 *
 * @param at Unix milliseconds
 */
export function day(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.valueOf()) ? '?' : date.toISOString().slice(0, 10);
}

/** Whether enough of a limit is used for it to be marked. */
export const isNearlyFull = (used: number, limit: number): boolean =>
  limit > 0 && used >= limit * 0.8;

/** Formats a duration in milliseconds: `12s`, `3m 5s`, `2h 10m`, `4d 3h`. */
export function age(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const parts = [
    { size: 86_400, name: 'd' },
    { size: 3_600, name: 'h' },
    { size: 60, name: 'm' },
    { size: 1, name: 's' },
  ];
  const first = parts.findIndex(({ size }) => seconds >= size);
  if (first < 0) return '0s';
  let left = seconds;
  return parts
    .slice(first, first + 2)
    .map(({ size, name }) => {
      const count = Math.floor(left / size);
      left %= size;
      return count === 0 && name !== 's' ? '' : `${count}${name}`;
    })
    .filter((text, index) => text !== '' && !(index > 0 && text === '0s'))
    .join(' ');
}
