import { UsageError } from '@weir/base';
import { DAY_MS, HOUR_MS } from '@weir/base/text/amounts';

/** The time that a text names; both ends are the same for an instant. */
export interface NamedTime {
  /** Unix milliseconds, as is `end`, which is the first that does not belong to it. */
  readonly start: number;
  readonly end: number;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: DAY_MS };

/**
 * Parses a time in UTC: `90m`, `12h` and `7d` ago; `today`, `yesterday`, `this month`, `last month`, `this year`; a year, a month,
 * a day or a time of ISO 8601.
 * @param now Unix milliseconds
 * @throws {UsageError}
 */
export function parseTime(option: string, text: string, now: number): NamedTime {
  const named = ago(text, now) ?? period(text, now) ?? isoTime(text);
  if (named) return named;
  throw new UsageError(
    `${option} needs a time such as 7d, today, "last month", 2026-11 or 2026-11-30T15:00, not ${JSON.stringify(text)}`,
  );
}

function ago(text: string, now: number): NamedTime | undefined {
  const [, digits, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const unitMs = UNITS[unit];
  if (digits === undefined || unitMs === undefined) return undefined;
  const at = now - Number(digits) * unitMs;
  return { start: at, end: at };
}

/** Returns the days or months from one number to another; both may be out of their range. */
const span = (year: number, months: readonly [number, number], days = [1, 1]): NamedTime => ({
  start: Date.UTC(year, months[0], days[0]),
  end: Date.UTC(year, months[1], days[1]),
});

function period(text: string, now: number): NamedTime | undefined {
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  switch (text.toLowerCase()) {
    case 'today':
      return span(year, [month, month], [day, day + 1]);
    case 'yesterday':
      return span(year, [month, month], [day - 1, day]);
    case 'this month':
      return span(year, [month, month + 1]);
    case 'last month':
      return span(year, [month - 1, month]);
    case 'this year':
      return span(year, [0, 12]);
    default:
      return undefined;
  }
}

const ISO = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d:\d\d)(?::\d\d)?Z?)?)?)?$/;

function isoTime(text: string): NamedTime | undefined {
  const [, year, month, day, time] = ISO.exec(text) ?? [];
  if (year === undefined) return undefined;
  const start = Date.parse(`${year}-${month ?? '01'}-${day ?? '01'}T${time ?? '00:00'}Z`);
  // JavaScript takes 31 June as 1 July.
  const isReal = !Number.isNaN(start) && new Date(start).getUTCDate() === Number(day ?? 1);
  if (!isReal) return undefined;
  if (time !== undefined) return { start, end: start };
  if (day !== undefined) return { start, end: start + DAY_MS };
  if (month !== undefined) return span(Number(year), [Number(month) - 1, Number(month)]);
  return span(Number(year), [0, 12]);
}
