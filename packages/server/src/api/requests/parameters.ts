import { isUtf8 } from 'node:buffer';
import type { FlowSelector } from '@weir/proxy/tracker';
import { ANY_FILE, type IfMatch } from '../contract.ts';
import { BadPath, BadRequest } from '../http/response.ts';

const DIGITS = /^\+?\d+$/;
/** The maximum of a `u64`, and its number of digits. */
const MAX_U64 = (1n << 64n) - 1n;
const MAX_DIGITS = 20;

/** Parses an unsigned 64-bit integer; accepts the same texts as Rust's `u64::from_str`. */
export function parseU64(text: string): { readonly value: bigint } | { readonly error: string } {
  if (text === '') return { error: 'cannot parse integer from empty string' };
  if (!DIGITS.test(text)) return { error: 'invalid digit found in string' };
  const digits = text.replace(/^\+?0*/, '');
  const value = digits.length <= MAX_DIGITS ? BigInt(digits) : MAX_U64 + 1n;
  return value <= MAX_U64 ? { value } : { error: 'number too large to fit in target type' };
}

const ESCAPE = /%([0-9a-f]{2})/gi;

/** Percent-decodes a text; a `%` without two hexadecimal digits after it is kept. */
export function percentDecode(text: string): Buffer {
  const bytes = text.replaceAll(ESCAPE, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  // A request target has one character per byte, and so has the result.
  return Buffer.from(bytes, 'latin1');
}

/**
 * Decodes a path segment to text.
 * @throws {BadPath} when its bytes are not UTF-8
 */
export function textParameter(name: string, segment: string): string {
  const bytes = percentDecode(segment);
  if (!isUtf8(bytes)) throw new BadPath(`Invalid UTF-8 in \`${name}\``);
  return bytes.toString();
}

/**
 * Decodes a path segment to a number.
 * @throws {BadPath} when it is not an unsigned 64-bit integer
 */
export function u64Parameter(name: string, segment: string): bigint {
  const text = textParameter(name, segment);
  const parsed = parseU64(text);
  if ('error' in parsed) throw new BadPath(`Cannot parse \`${text}\` to a \`u64\``);
  return parsed.value;
}

const FIELDS = ['outbound', 'inbound', 'session', 'user'] as const;
type Field = (typeof FIELDS)[number];

const isField = (name: string): name is Field => (FIELDS as readonly string[]).includes(name);
const EXPECTED = `expected one of ${FIELDS.map((field) => `\`${field}\``).join(', ')}`;

const reject = (reason: string): BadRequest =>
  new BadRequest(`Failed to deserialize query string: ${reason}`);

/**
 * Parses the query string that selects flows to close. A field without a value selects the empty
 * text; no field at all selects every flow.
 *
 * @throws {BadRequest} for the first field that is unknown, repeated or not a valid number.
 */
export function parseSelector(query: string): FlowSelector {
  const texts = new Map<Field, string>();
  let session: number | undefined;
  for (const [name, value] of formPairs(query)) {
    if (!isField(name)) throw reject(`unknown field \`${name}\`, ${EXPECTED}`);
    if (texts.has(name)) throw reject(`duplicate field \`${name}\``);
    texts.set(name, value);
    if (name !== 'session') continue;
    const parsed = parseU64(value);
    if ('error' in parsed) throw reject(`session: ${parsed.error}`);
    // Ids count up from 1 and stay below 2^53, so rounding a larger number matches none.
    session = Number(parsed.value);
  }
  return {
    outbound: texts.get('outbound'),
    inbound: texts.get('inbound'),
    session,
    user: texts.get('user'),
  };
}

/** Name and value pairs of `application/x-www-form-urlencoded`; invalid UTF-8 is replaced. */
function formPairs(query: string): [name: string, value: string][] {
  const decode = (text: string): string => percentDecode(text.replaceAll('+', ' ')).toString();
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = ''] = pair.split('=', 1);
      return [decode(name), decode(pair.slice(name.length + 1))];
    });
}

/** One strong entity tag: quoted, without a quote or a comma inside. */
const ONE_TAG = /^"[^",]*"$/;
/** Characters other than visible ASCII, space and tab. */
const FOREIGN = /[^\t\x20-\x7e]/;

/**
 * Parses an `If-Match` header (RFC 9110 §13.1.1); only `*` and a single strong tag are accepted.
 * @throws {BadRequest} for weak tags, lists and anything else.
 */
export function parseIfMatch(header: string | undefined): IfMatch {
  if (header === undefined) return ANY_FILE;
  if (!FOREIGN.test(header)) {
    const value = header.trim();
    if (value === '*') return ANY_FILE;
    if (ONE_TAG.test(value)) return { kind: 'is', etag: value };
  }
  throw new BadRequest('If-Match takes * or the one entity tag that an ETag header gave');
}
