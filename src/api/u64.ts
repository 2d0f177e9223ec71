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

/** A count or a time as decimal digits of a `u64`, clamped to its range. */
export function u64Text(value: number): string {
  if (!(value >= 1)) return '0';
  if (value <= Number.MAX_SAFE_INTEGER) return String(Math.floor(value));
  const whole = Number.isFinite(value) ? BigInt(Math.floor(value)) : MAX_U64;
  return String(whole < MAX_U64 ? whole : MAX_U64);
}
