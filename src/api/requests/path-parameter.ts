import { isUtf8 } from 'node:buffer';
import { BadPath } from '../http/rejections.ts';

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
