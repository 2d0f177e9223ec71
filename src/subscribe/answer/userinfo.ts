/** What a provider says about a subscription, in `subscription-userinfo`; absent parts are `undefined`. */
export interface Userinfo {
  /** Bytes sent and received so far. */
  readonly upload?: number | undefined;
  readonly download?: number | undefined;
  /** Bytes that may be transferred in all. */
  readonly total?: number | undefined;
  /** The end of the subscription, in seconds since 1970. */
  readonly expire?: number | undefined;
}

const FIELDS = ['upload', 'download', 'total', 'expire'] as const;

/** What is as large counts milliseconds, as some panels do: as seconds it would be after the year 5000. */
const MILLISECONDS = 1e11;

/** Characters of the header that are read. */
const LONGEST = 1024;

/**
 * Reads the header `subscription-userinfo`: `upload=455; download=24576; total=1073741824; expire=1790000000`.
 * Parts that are not numbers are left out; the first of several counts. `undefined` where nothing is left.
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
  // Panels write an end that does not exist as 0, and so a total without limit.
  if (found.expire === 0) delete found.expire;
  if (found.total === 0) delete found.total;
  if (found.expire !== undefined && found.expire >= MILLISECONDS) {
    found.expire = Math.trunc(found.expire / 1000);
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** The parts within `LONGEST` characters, without one that goes on after them: it may be a number cut short. */
const partsOf = (header: string): readonly string[] =>
  header
    .slice(0, LONGEST)
    .split(/[;,]/)
    .slice(0, header.length > LONGEST ? -1 : undefined);

/**
 * A whole number that is not negative, also as programs print a float (`1.5E+14`); fractions are cut off.
 */
function numberOf(text: string): number | undefined {
  if (!/^\+?\d{1,40}(?:\.\d{0,40})?(?:e[+-]?\d{1,3})?$/i.test(text)) return undefined;
  const value = Math.trunc(Number(text));
  return Number.isSafeInteger(value) ? value : undefined;
}

const LEAST_HOURS = 1;
const MOST_HOURS = 31 * 24;

/**
 * Reads the header `profile-update-interval`, the hours between updates that the provider asks for, in
 * seconds and within an hour and a month. `undefined` where it is no number.
 */
export function parseUpdateInterval(header: string | undefined): number | undefined {
  const hours = numberOf((header ?? '').trim());
  if (hours === undefined) return undefined;
  return Math.min(Math.max(hours, LEAST_HOURS), MOST_HOURS) * 3600;
}
