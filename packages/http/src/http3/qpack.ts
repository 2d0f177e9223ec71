import { connectionError, streamError, type Http3Error } from './errors.ts';
import { FIELD_SECTION_LIMIT } from '../limits.ts';
import { fieldSize, type HttpField, staticTable } from '../fields/field.ts';
import {
  LiteralReader,
  writeText,
  PrefixInteger,
  writePrefixInteger,
  TRUNCATED,
} from '../fields/literals.ts';

/**
 * Representations by the first octet (RFC 9204 §4.5). Those that refer to the dynamic table are errors here: it has no
 * entries, because SETTINGS allow no capacity.
 */
const INDEXED = 0x80;
const INDEXED_STATIC = 0x40;
const NAME_REFERENCE = 0x40;
const NAME_REFERENCE_STATIC = 0x10;
const LITERAL_NAME = 0x20;

const failed = (reason: string): Http3Error =>
  connectionError('QPACK_DECOMPRESSION_FAILED', reason);

/**
 * Decodes an encoded field section (RFC 9204 §4.5) with the static table. Text is latin1.
 *
 * @returns the fields in their order, or QPACK_DECOMPRESSION_FAILED; H3_EXCESSIVE_LOAD for a section
 *   that is larger than FIELD_SECTION_LIMIT by the count of RFC 9114 §4.2.2.
 */
export function decodeHeaderBlock(bytes: Uint8Array): HttpField[] | Http3Error {
  return new HeaderBlockReader(bytes).read();
}

class HeaderBlockReader extends LiteralReader {
  #size = 0;

  read(): HttpField[] | Http3Error {
    const problem = this.#prefix();
    if (problem !== undefined) return failed(problem);
    const fields: HttpField[] = [];
    while (this.at < this.bytes.length) {
      const field = this.#field(this.bytes[this.at] as number); // below the length
      if (typeof field === 'string') return failed(field);
      this.#size += fieldSize(field.name, field.value);
      if (this.#size > FIELD_SECTION_LIMIT) {
        return streamError('H3_EXCESSIVE_LOAD', 'the header section is too large');
      }
      fields.push(field);
    }
    return fields;
  }

  /** Reads the prefix of the section (§4.5.1): it must require no entries, and the base must not be below them. */
  #prefix(): string | undefined {
    const required = this.readNumber(8);
    if (required === undefined) return 'the prefix of the header block is incomplete';
    if (required !== 0) return 'the header block requires entries of the dynamic table';
    const negative = ((this.bytes[this.at] ?? 0) & 0x80) !== 0;
    if (this.readNumber(7) === undefined) return 'the prefix of the header block is incomplete';
    return negative ? 'the base of the header block is negative' : undefined;
  }

  /** Reads the next field line, or returns the reason why it is invalid. */
  #field(first: number): HttpField | string {
    if (first & INDEXED) {
      if (!(first & INDEXED_STATIC)) return 'a field refers to the dynamic table';
      return this.#entry(6) ?? 'a field has an index beyond the static table';
    }
    if (first & NAME_REFERENCE) {
      if (!(first & NAME_REFERENCE_STATIC)) return 'a field name refers to the dynamic table';
      const name = this.#entry(4)?.name;
      if (name === undefined) return 'a field name has an index beyond the static table';
      const value = this.readText(7);
      return value === undefined ? 'a field value is malformed' : { name, value };
    }
    if (!(first & LITERAL_NAME)) return 'a field refers to the dynamic table';
    const name = this.readText(3);
    if (name === undefined) return 'a field name is malformed';
    const value = this.readText(7);
    return value === undefined ? 'a field value is malformed' : { name, value };
  }

  #entry(prefix: number): HttpField | undefined {
    const index = this.readNumber(prefix);
    return index === undefined ? undefined : QPACK_STATIC_TABLE[index];
  }
}

/**
 * Encodes a field section with the static table only, so that it does not depend on other streams. Texts are latin1,
 * encoded in Huffman code if that is shorter.
 */
export function encodeHeaderBlock(fields: readonly HttpField[]): Uint8Array {
  // Huffman code is chosen only if it is shorter than the text; a length has at most nine octets.
  let bound = 2;
  for (const { name, value } of fields) bound += name.length + value.length + 18;
  const out = new Uint8Array(bound);
  // No required entries and no base.
  let at = 2;
  for (const { name, value } of fields) at = writeField(out, at, name, value);
  return out.subarray(0, at);
}

function writeField(out: Uint8Array, offset: number, name: string, value: string): number {
  const index = staticIndexOf(name, value);
  if (index !== undefined) {
    return writePrefixInteger(out, offset, index, 6, INDEXED | INDEXED_STATIC);
  }
  const nameIndex = staticIndexOfName(name);
  const at =
    nameIndex === undefined
      ? writeText(out, offset, name, 3, LITERAL_NAME)
      : writePrefixInteger(out, offset, nameIndex, 4, NAME_REFERENCE | NAME_REFERENCE_STATIC);
  return writeText(out, at, value, 7, 0);
}

/** The static table (RFC 9204, appendix A). */
export const QPACK_STATIC_TABLE = staticTable(
  ':authority',
  [':path', '/'],
  ['age', '0'],
  'content-disposition',
  ['content-length', '0'],
  'cookie date etag if-modified-since if-none-match last-modified link location referer',
  'set-cookie',
  [':method', 'CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'],
  [':scheme', 'http', 'https'],
  [':status', '103', '200', '304', '404', '503'],
  ['accept', '*/*', 'application/dns-message'],
  ['accept-encoding', 'gzip, deflate, br'],
  ['accept-ranges', 'bytes'],
  ['access-control-allow-headers', 'cache-control', 'content-type'],
  ['access-control-allow-origin', '*'],
  [
    'cache-control',
    'max-age=0',
    'max-age=2592000',
    'max-age=604800',
    'no-cache',
    'no-store',
    'public, max-age=31536000',
  ],
  ['content-encoding', 'br', 'gzip'],
  [
    'content-type',
    'application/dns-message',
    'application/javascript',
    'application/json',
    'application/x-www-form-urlencoded',
    'image/gif',
    'image/jpeg',
    'image/png',
    'text/css',
    'text/html; charset=utf-8',
    'text/plain',
    'text/plain;charset=utf-8',
  ],
  ['range', 'bytes=0-'],
  [
    'strict-transport-security',
    'max-age=31536000',
    'max-age=31536000; includesubdomains',
    'max-age=31536000; includesubdomains; preload',
  ],
  ['vary', 'accept-encoding', 'origin'],
  ['x-content-type-options', 'nosniff'],
  ['x-xss-protection', '1; mode=block'],
  [':status', '100', '204', '206', '302', '400', '403', '421', '425', '500'],
  'accept-language',
  ['access-control-allow-credentials', 'FALSE', 'TRUE'],
  ['access-control-allow-headers', '*'],
  ['access-control-allow-methods', 'get', 'get, post, options', 'options'],
  ['access-control-expose-headers', 'content-length'],
  ['access-control-request-headers', 'content-type'],
  ['access-control-request-method', 'get', 'post'],
  ['alt-svc', 'clear'],
  'authorization',
  ['content-security-policy', "script-src 'none'; object-src 'none'; base-uri 'none'"],
  ['early-data', '1'],
  'expect-ct forwarded if-range origin',
  ['purpose', 'prefetch'],
  'server',
  ['timing-allow-origin', '*'],
  ['upgrade-insecure-requests', '1'],
  'user-agent x-forwarded-for',
  ['x-frame-options', 'deny', 'sameorigin'],
);

/** The static table. */

/** Returns a key of a field, with a separator that no name contains. */
const keyOf = (name: string, value: string): string => `${name}\n${value}`;

const FIELDS = new Map(
  QPACK_STATIC_TABLE.map(({ name, value }, index) => [keyOf(name, value), index]),
);
/** Index of the first entry of each name. */
const NAMES = new Map(
  QPACK_STATIC_TABLE.map(({ name }, index) => [name, index] as const).toReversed(),
);

/** Returns the index of an entry with that name and value. */
const staticIndexOf = (name: string, value: string): number | undefined =>
  FIELDS.get(keyOf(name, value));

/** Returns the index of the first entry with that name. */
const staticIndexOfName = (name: string): number | undefined => NAMES.get(name);

/** Maximum length in octets of an acceptable instruction: a prefix and the rest of a stream id. */
const INSTRUCTION_LIMIT = 9;

/**
 * Reads a peer's QPACK stream (RFC 9204 §4.3, §4.4) if neither dynamic table has any capacity, so that few instructions
 * are valid. Accepts chunks of any size.
 */
export class InstructionReader {
  readonly #kind: 'encoder' | 'decoder';
  readonly #integer = new PrefixInteger();
  /** The received part of an instruction. */
  readonly #held = new Uint8Array(INSTRUCTION_LIMIT);
  #heldLength = 0;

  constructor(kind: 'encoder' | 'decoder') {
    this.#kind = kind;
  }

  /** Reads a chunk; returns the error of the first invalid instruction. */
  feed(bytes: Uint8Array): Http3Error | undefined {
    for (const byte of bytes) {
      this.#held[this.#heldLength++] = byte;
      const end = this.#heldLength;
      const error = this.#kind === 'encoder' ? this.#encoder(end) : this.#decoder(end);
      if (error) return error;
    }
    return undefined;
  }

  /**
   * Checks an encoder instruction: only Set Dynamic Table Capacity to 0 is valid, since every insertion exceeds the
   * capacity.
   */
  #encoder(end: number): Http3Error | undefined {
    const first = this.#held[0] as number; // written above
    if (first >> 5 !== 0b001) {
      return connectionError('QPACK_ENCODER_STREAM_ERROR', 'an insertion exceeds the capacity');
    }
    const capacity = this.#integer.read(this.#held, 0, end, 5);
    if (capacity === TRUNCATED) return undefined;
    if (capacity !== 0) {
      return connectionError('QPACK_ENCODER_STREAM_ERROR', 'the capacity exceeds the limit');
    }
    this.#heldLength = 0;
    return undefined;
  }

  /**
   * Checks a decoder instruction: only Stream Cancellation is valid, since the sections sent need no acknowledgement.
   */
  #decoder(end: number): Http3Error | undefined {
    const first = this.#held[0] as number; // written above
    if (first >> 6 !== 0b01) {
      return connectionError('QPACK_DECODER_STREAM_ERROR', 'an acknowledgement of no insertion');
    }
    const id = this.#integer.read(this.#held, 0, end, 6);
    if (id === TRUNCATED) return undefined;
    if (id > Number.MAX_SAFE_INTEGER) {
      return connectionError('QPACK_DECODER_STREAM_ERROR', 'a stream id is too large');
    }
    this.#heldLength = 0;
    return undefined;
  }
}
