/** Texts of amounts in a limits file and on command lines: bytes, rates and dates. */
import { DAY_MS } from '@weir/base/text/amounts';

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};
const RATES: Readonly<Record<string, number>> = {
  'bit/s': 1 / 8,
  'kbit/s': 1e3 / 8,
  'Mbit/s': 1e6 / 8,
  'Gbit/s': 1e9 / 8,
  bps: 1 / 8,
  kbps: 1e3 / 8,
  Mbps: 1e6 / 8,
  Gbps: 1e9 / 8,
  'B/s': 1,
  'kB/s': 1e3,
  'MB/s': 1e6,
  'GB/s': 1e9,
};

/** The most bytes of a limit: numbers of JavaScript are exact up to 2^53. */
const MOST_BYTES = Number.MAX_SAFE_INTEGER;
/** The lowest and the highest rate, in bytes per second: 16 kbit/s and 100 Gbit/s. */
const RATE_RANGE = { least: 2e3, most: 12.5e9 } as const;

/** Why a text is not an amount, as the end of a sentence that begins with it. */
export interface AmountProblem {
  readonly problem: string;
}

const AMOUNT = /^(\d{1,15}(?:\.\d{1,6})?) ?([a-z/]+)$/i;

/**
 * Parses an amount of bytes: `100 GB`, `1.5TB`, `500 MiB`. kB, MB, GB and TB are powers of 1000; KiB, MiB, GiB and TiB
 * of 1024. Units may be written in small letters or in capitals.
 */
export function parseByteLimit(text: string): number | AmountProblem {
  const amount = amountIn(text, UNITS);
  if (amount === undefined) return { problem: 'is not an amount of bytes such as "100 GB"' };
  const bytes = Math.floor(amount);
  if (bytes < 1) return { problem: 'is no amount: without the key there is no limit' };
  if (bytes > MOST_BYTES) return { problem: 'is more than 9000 TB' };
  return bytes;
}

/** Parses a rate to bytes per second: `10 Mbit/s`, `10 Mbps` or `1.25 MB/s`. */
export function parseRateLimit(text: string): number | AmountProblem {
  const rate = amountIn(text, RATES);
  if (rate === undefined) return { problem: 'is not a rate such as "10 Mbit/s"' };
  if (rate < RATE_RANGE.least) return { problem: 'is less than 16 kbit/s' };
  if (rate > RATE_RANGE.most) return { problem: 'is more than 100 Gbit/s' };
  return rate;
}

/** Returns the number in a text times its unit; `undefined` for any other text. */
function amountIn(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, digits, unit = ''] = AMOUNT.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const spelling = Object.keys(units).find(
    (name) => unit === name || unit === name.toLowerCase() || unit === name.toUpperCase(),
  );
  // `MBPS` could be bits or bytes; `GB/S` is not.
  if (spelling === undefined || (/^.?BPS$/.test(unit) && unit !== 'BPS')) return undefined;
  return Number(digits) * (units[spelling] ?? Number.NaN);
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME =
  /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})?$/;

/**
 * Parses the end of an account to the first moment at which it no longer works, in Unix milliseconds. It works through
 * the whole of a date (`2027-01-31`), in UTC, and until a time (`2027-01-31T12:00Z`), which is in UTC without an offset.
 */
export function parseUntil(text: string): number | AmountProblem {
  const trimmed = text.trim();
  const at = DATE.test(trimmed) ? Date.parse(trimmed) + DAY_MS : timeOf(trimmed);
  const [year, month, day] = trimmed.split(/[-Tt ]/, 3).map(Number);
  const exists =
    year !== undefined &&
    month !== undefined &&
    day !== undefined &&
    new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
  if (Number.isNaN(at) || !exists) {
    return { problem: 'is not a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z' };
  }
  return at;
}

function timeOf(text: string): number {
  if (!DATE_TIME.test(text)) return Number.NaN;
  const written = text.replace(/[t ]/, 'T').toUpperCase();
  return Date.parse(/(?:Z|[+-]\d{2}:\d{2})$/.test(written) ? written : `${written}Z`);
}
