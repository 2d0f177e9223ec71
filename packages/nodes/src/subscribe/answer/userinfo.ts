/**
 * The quota and the expiry of a subscription, from the header `subscription-userinfo`; missing parts are `undefined`.
 */
export interface Userinfo {
  /** Bytes sent so far. */
  readonly upload?: number | undefined;
  readonly download?: number | undefined;
  /** Quota in bytes for both directions. */
  readonly total?: number | undefined;
  /** End of the subscription, in Unix seconds. */
  readonly expire?: number | undefined;
}

const FIELDS = ['upload', 'download', 'total', 'expire'] as const;

/** A larger time is in milliseconds, as some panels send it: in seconds it would be after the year 5000. */
const MILLISECONDS = 1e11;

/** Maximum number of characters of the header that are read. */
const LONGEST = 1024;

/**
 * Parses the header `subscription-userinfo`: `upload=455; download=24576; total=1073741824; expire=1790000000`. Parts
 * that are not numbers are left out; the first of several counts. `undefined` where no part is left.
 */
export function parseUserinfo(header: string | undefined): Userinfo | undefined {
  const found: { -readonly [Key in keyof Userinfo]: number } = {};
  for (const part of partsOf(header ?? '')) {
    const equals = part.indexOf('=');
    const key = part.slice(0, Math.max(0, equals)).trim().toLowerCase();
    const field = FIELDS.find((each) => each === key);
    const value = numberOf(
      part
        .slice(equals + 1)
        .trim()
        .replace(/^"(.*)"$/, '$1'),
    );
    if (field && value !== undefined) found[field] ??= value;
  }
  // Panels send 0 for a subscription without an end, or for an unlimited quota.
  if (found.expire === 0) delete found.expire;
  if (found.total === 0) delete found.total;
  if (found.expire !== undefined && found.expire >= MILLISECONDS) {
    found.expire = Math.trunc(found.expire / 1000);
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** The parts within the first `LONGEST` characters, except one that continues beyond: it may be a truncated number. */
const partsOf = (header: string): readonly string[] =>
  header
    .slice(0, LONGEST)
    .split(/[;,]/)
    .slice(0, header.length > LONGEST ? -1 : undefined);

/** Parses a non-negative integer, also in the float format of some programs (`1.5E+14`); fractions are truncated. */
function numberOf(text: string): number | undefined {
  if (!/^\+?\d{1,40}(?:\.\d{0,40})?(?:e[+-]?\d{1,3})?$/i.test(text)) return undefined;
  const value = Math.trunc(Number(text));
  return Number.isSafeInteger(value) ? value : undefined;
}

const LEAST_HOURS = 1;
const MOST_HOURS = 31 * 24;

/**
 * Parses the header `profile-update-interval`, which has the provider's update interval in hours, to seconds between an
 * hour and a month. `undefined` if it is not a number.
 */
export function parseUpdateInterval(header: string | undefined): number | undefined {
  const hours = numberOf((header ?? '').trim());
  if (hours === undefined) return undefined;
  return Math.min(Math.max(hours, LEAST_HOURS), MOST_HOURS) * 3600;
}
