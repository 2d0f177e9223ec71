import type { HttpField } from '../../fields/field.ts';

/** Names and values of the static table, from index 1 (RFC 7541, appendix A). */
const ENTRIES: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
];

/** The static table; index 1 is its first entry. */
export const HPACK_STATIC_TABLE: readonly HttpField[] = ENTRIES.map(([name, value]) => ({
  name,
  value,
}));

/** A static table entry that matches the name of a field, or the whole field. */
export interface StaticMatch {
  readonly index: number;
  /** Whether the value matches as well as the name. */
  readonly isWhole: boolean;
}

/** Indexes by name, then by value; the first entry of a name also serves for the name alone. */
const BY_NAME = new Map<string, Map<string, number>>();
for (const [at, [name, value]] of ENTRIES.entries()) {
  const values = BY_NAME.get(name) ?? new Map<string, number>();
  values.set(value, at + 1);
  BY_NAME.set(name, values);
}

/** Finds the entry of a field, or else the first entry with its name. */
export function findStatic(name: string, value: string): StaticMatch | undefined {
  const values = BY_NAME.get(name);
  if (!values) return undefined;
  const whole = values.get(value);
  if (whole !== undefined) return { index: whole, isWhole: true };
  const [first = 0] = values.values();
  return { index: first, isWhole: false };
}
