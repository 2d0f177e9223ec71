/** A field line of HTTP/2 or HTTP/3; the name is in lower case, texts are latin1. */
export interface HttpField {
  readonly name: string;
  readonly value: string;
}

/** Number of bytes counted for a field in addition to its name and value. */
const FIELD_OVERHEAD = 32;

/**
 * Returns the size of a field in header lists and dynamic tables, in bytes (RFC 7541 §4.1, RFC 9113 §10.5.1, RFC 9114
 * §4.2.2).
 */
export const fieldSize = (name: string, value: string): number =>
  name.length + value.length + FIELD_OVERHEAD;

/**
 * Returns the fields of a static table. A row is a name and its values in their order; or a text of names with an empty
 * value, separated by spaces.
 */
export const staticTable = (
  ...rows: readonly (string | readonly string[])[]
): readonly HttpField[] =>
  rows.flatMap((row) => {
    if (typeof row === 'string') return row.split(' ').map((name) => ({ name, value: '' }));
    const [name = '', ...values] = row;
    return values.map((value) => ({ name, value }));
  });

/** Returns the value of the first field with a name. */
export const valueOf = (fields: readonly HttpField[], name: string): string | undefined =>
  fields.find((field) => field.name === name)?.value;

// ---- rules common to HTTP/2 and HTTP/3 (RFC 9113 §8.2 and §8.3, RFC 9114 §4.2 and §4.3) ----

/** Matches a field name: a token in lower case. */
export const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

export const STATUS = /^[1-9][0-9]{2}$/;

/** Connection-specific fields, which make a message malformed. */
export const CONNECTION_SPECIFIC: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

export const REQUEST_PSEUDO: ReadonlySet<string> = new Set([
  ':method',
  ':scheme',
  ':authority',
  ':path',
  ':protocol',
]);
export const RESPONSE_PSEUDO: ReadonlySet<string> = new Set([':status']);
/** The pseudo-header fields of trailers: none are allowed. */
export const NO_PSEUDO: ReadonlySet<string> = new Set();

// Rules of RFC 9110 for texts in any version of HTTP.

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Control characters except the tab: RFC 9110 §5.5 allows none of them in a value.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\0-\x08\x0a-\x1f\x7f]/g;

/** Whether a text is a token (RFC 9110 §5.6.2). */
export const isToken = (text: string): boolean => TOKEN.test(text);

/** Whether a text has a byte that is invalid in field values, reason phrases and targets. */
export const hasControl = (text: string): boolean => CONTROL.test(text);

/** Replaces each byte that is invalid in field values, reason phrases and targets with a space. */
export const blankControls = (text: string): string => text.replaceAll(CONTROLS, ' ');

const SPACE = 0x20;
const TAB = 0x09;

const isBlank = (code: number): boolean => code === SPACE || code === TAB;

/**
 * Removes leading and trailing spaces and tabs: the optional whitespace around a value (RFC 9110 §5.6.3). Not a regular
 * expression, since one for trailing blanks takes quadratic time.
 */
export function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

/**
 * Whether a `Sec-Fetch-Site` header (Fetch Metadata Request Headers, W3C) belongs to a request by a page of the same
 * origin, by the user, or by a program, which sends no such header. Browsers send it to loopback with every request,
 * including requests without `Origin`: `no-cors` reads, images, frames.
 */
export const isOwnSite = (site: string | readonly string[] | undefined): boolean =>
  site === undefined || site === 'same-origin' || site === 'none';
