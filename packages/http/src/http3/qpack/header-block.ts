import { connectionError, streamError, type Http3Error } from '../errors.ts';
import { FIELD_SECTION_LIMIT } from '../../limits.ts';
import { fieldSize, type HttpField } from '../../fields/field.ts';
import { readHuffman, writeText } from '../../fields/huffman.ts';
import { PrefixInteger, writePrefixInteger } from '../../fields/prefix-integer.ts';
import { QPACK_STATIC_TABLE, staticIndexOf, staticIndexOfName } from './static-table.ts';

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

class HeaderBlockReader {
  readonly #bytes: Uint8Array;
  readonly #integer = new PrefixInteger();
  #at = 0;
  #size = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  read(): HttpField[] | Http3Error {
    const problem = this.#prefix();
    if (problem !== undefined) return failed(problem);
    const fields: HttpField[] = [];
    while (this.#at < this.#bytes.length) {
      const field = this.#field(this.#bytes[this.#at] as number); // below the length
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
    const required = this.#number(8);
    if (required === undefined) return 'the prefix of the header block is incomplete';
    if (required !== 0) return 'the header block requires entries of the dynamic table';
    const negative = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    if (this.#number(7) === undefined) return 'the prefix of the header block is incomplete';
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
      const value = this.#text(7);
      return value === undefined ? 'a field value is malformed' : { name, value };
    }
    if (!(first & LITERAL_NAME)) return 'a field refers to the dynamic table';
    const name = this.#text(3);
    if (name === undefined) return 'a field name is malformed';
    const value = this.#text(7);
    return value === undefined ? 'a field value is malformed' : { name, value };
  }

  #entry(prefix: number): HttpField | undefined {
    const index = this.#number(prefix);
    return index === undefined ? undefined : QPACK_STATIC_TABLE[index];
  }

  /** Reads a string literal with its Huffman flag above the prefix of its length (§4.1.2). */
  #text(prefix: number): string | undefined {
    const huffman = ((this.#bytes[this.#at] ?? 0) & (1 << prefix)) !== 0;
    const length = this.#number(prefix);
    if (length === undefined || length > this.#bytes.length - this.#at) return undefined;
    const start = this.#at;
    this.#at += length;
    if (huffman) return readHuffman(this.#bytes, start, this.#at);
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, length).toString(
      'latin1',
    );
  }

  #number(prefix: number): number | undefined {
    const value = this.#integer.read(this.#bytes, this.#at, this.#bytes.length, prefix);
    if (value < 0 || value > Number.MAX_SAFE_INTEGER) return undefined;
    this.#at = this.#integer.next;
    return value;
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
