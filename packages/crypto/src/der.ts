/** An encoder for the subset of DER (X.690 §10) that certificates need. */

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** Context-specific tag of a primitive element. */
  context: 0x80,
  /** Context-specific tag of a constructed element, around another element. */
  explicit: 0xa0,
} as const;

/** Encodes one element: tag, length, content. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.of(tag), lengthOf(body.length), body]);
}

/** Encodes a length: below 128 in the short form, otherwise in the long form. */
function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 0x100)) bytes.unshift(rest % 0x100);
  return Buffer.of(0x80 | bytes.length, ...bytes);
}

export const sequence = (...content: readonly Uint8Array[]): Buffer =>
  der(TAG.sequence, ...content);

/**
 * Encodes an INTEGER.
 *
 * @param bytes the value, big-endian and not negative
 */
export function integer(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const short = start < 0 ? Buffer.of(0) : bytes.subarray(start);
  const needsZero = ((short[0] ?? 0) & 0x80) !== 0;
  return der(TAG.integer, needsZero ? Buffer.concat([Buffer.of(0), short]) : short);
}

/** Encodes a BIT STRING of whole bytes. */
export const bitString = (bytes: Uint8Array): Buffer => der(TAG.bitString, Buffer.of(0), bytes);

/**
 * Encodes an OBJECT IDENTIFIER.
 *
 * @param dotted such as `2.5.29.17`; the first two numbers share one byte (X.690 §8.19.4)
 */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return der(TAG.objectIdentifier, Buffer.of(first * 40 + second, ...others.flatMap(base128)));
}

/** Encodes a number in base 128: all bytes but the last have the highest bit set. */
function base128(number: number): readonly number[] {
  const bytes = [number & 0x7f];
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

/**
 * Encodes a Time.
 *
 * @param time Unix milliseconds; UTCTime up to 2049, as RFC 5280 §4.1.2.5 requires
 */
export function time(time: number): Buffer {
  const text = new Date(time).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return Number(text.slice(0, 4)) < 2050
    ? der(TAG.utcTime, Buffer.from(text.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(text));
}

/** Encodes PEM (RFC 7468): base64 in lines of 64 characters. */
export function pem(label: string, body: Uint8Array): string {
  const base64 = Buffer.from(body).toString('base64');
  const lines: string[] = [];
  for (let at = 0; at < base64.length; at += 64) lines.push(base64.slice(at, at + 64));
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
