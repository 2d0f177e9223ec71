import { readHuffman } from '../../fields/huffman.ts';
import { PrefixInteger } from '../../fields/prefix-integer.ts';
import { connectionError, streamError, type Http2Error } from '../errors.ts';
import { fieldSize, type HttpField } from '../../fields/field.ts';
import { DECODER_TABLE_BYTES, FIELD_LIMIT, HEADER_LIST_LIMIT } from '../../limits.ts';
import { DynamicTable, HPACK_STATIC_TABLE } from './tables.ts';

/** Representations, by the first octet (RFC 7541 §6). */
const INDEXED = 0x80;
const INCREMENTAL = 0x40;
const SIZE_UPDATE = 0x20;

/** Maximum length in bytes of blocks that are compared with the last one. */
const REMEMBERED_BYTES = 64;

/**
 * Decodes header blocks with a dynamic table (RFC 7541 §3). Text is latin1.
 *
 * Most header blocks of a connection are equal: for a block that equals the last one, with the table unchanged, the
 * same list is returned, which callers must not change.
 */
export class HpackDecoder {
  readonly #table = new DynamicTable(DECODER_TABLE_BYTES);
  readonly #integer = new PrefixInteger();
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #lastBlock: Uint8Array | undefined;
  #lastFields: readonly HttpField[] = [];
  #lastGeneration = 0;

  /** Size of the dynamic table in bytes, as defined in §4.1. */
  get tableSize(): number {
    return this.#table.size;
  }

  /**
   * Decodes a header block.
   *
   * @returns the fields in their order; COMPRESSION_ERROR, which ends the connection; or the stream error
   * ENHANCE_YOUR_CALM for a list beyond the limits, after which the table is still in sync.
   */
  decode(block: Uint8Array): readonly HttpField[] | Http2Error {
    const last = this.#lastBlock;
    if (last && this.#lastGeneration === this.#table.generation && equal(last, block)) {
      return this.#lastFields;
    }
    const { generation } = this.#table;
    this.#bytes = block;
    this.#at = 0;
    const fields = this.#read();
    this.#bytes = EMPTY;
    if (typeof fields === 'string') return connectionError('COMPRESSION_ERROR', fields);
    const isRepeatable = generation === this.#table.generation && block.length <= REMEMBERED_BYTES;
    if (isRepeatable && Array.isArray(fields)) {
      this.#lastBlock = Uint8Array.from(block);
      this.#lastFields = fields;
      this.#lastGeneration = generation;
    }
    return fields;
  }

  /** Returns the fields, a stream error, or the reason of a COMPRESSION_ERROR. */
  #read(): HttpField[] | Http2Error | string {
    const fields: HttpField[] = [];
    let size = 0;
    let count = 0;
    while (this.#at < this.#bytes.length) {
      const first = this.#bytes[this.#at] as number; // below the length
      if ((first & 0xe0) === SIZE_UPDATE) {
        const problem = count > 0 ? 'a table size update follows a field' : this.#resize();
        if (problem !== undefined) return problem;
        continue;
      }
      const field = this.#field(first);
      if (typeof field === 'string') return field;
      count++;
      size += fieldSize(field.name, field.value);
      // Fields beyond the limits are decoded to keep the table in sync, and dropped.
      if (count <= FIELD_LIMIT && size <= HEADER_LIST_LIMIT) fields.push(field);
    }
    if (count > FIELD_LIMIT) return streamError('ENHANCE_YOUR_CALM', 'too many header fields');
    if (size > HEADER_LIST_LIMIT) {
      return streamError('ENHANCE_YOUR_CALM', 'the header list is too large');
    }
    return fields;
  }

  /** Reads a dynamic table size update (§6.3), which must not exceed the value in SETTINGS. */
  #resize(): string | undefined {
    const capacity = this.#number(5);
    if (capacity === undefined || capacity > DECODER_TABLE_BYTES) {
      return 'a table size update exceeds the limit';
    }
    this.#table.resize(capacity);
    return undefined;
  }

  #field(first: number): HttpField | string {
    if (first & INDEXED) {
      return this.#entry(this.#number(7)) ?? 'a field has an index beyond the tables';
    }
    const isIncremental = (first & INCREMENTAL) !== 0;
    const index = this.#number(isIncremental ? 6 : 4);
    if (index === undefined) return 'a field has an invalid index';
    const name = index === 0 ? this.#text() : this.#entry(index)?.name;
    if (name === undefined) {
      return index === 0
        ? 'a field name is malformed'
        : 'a field name has an index beyond the tables';
    }
    const value = this.#text();
    if (value === undefined) return 'a field value is malformed';
    const field = { name, value };
    if (isIncremental) this.#table.insert(field);
    return field;
  }

  /** Returns the entry of an index: the static table comes first, then the dynamic one (§2.3.3); index 0 is invalid. */
  #entry(index: number | undefined): HttpField | undefined {
    if (index === undefined) return undefined;
    if (index <= HPACK_STATIC_TABLE.length) return HPACK_STATIC_TABLE[index - 1];
    return this.#table.at(index - HPACK_STATIC_TABLE.length - 1);
  }

  /** Reads a string literal (§5.2). */
  #text(): string | undefined {
    const isHuffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#number(7);
    if (length === undefined || length > this.#bytes.length - this.#at) return undefined;
    const start = this.#at;
    this.#at += length;
    if (isHuffman) return readHuffman(this.#bytes, start, this.#at);
    const { buffer, byteOffset } = this.#bytes;
    return Buffer.from(buffer, byteOffset + start, length).toString('latin1');
  }

  #number(prefix: number): number | undefined {
    const value = this.#integer.read(this.#bytes, this.#at, this.#bytes.length, prefix);
    if (value < 0 || value > Number.MAX_SAFE_INTEGER) return undefined;
    this.#at = this.#integer.next;
    return value;
  }
}

const EMPTY = new Uint8Array(0);

function equal(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false;
  return true;
}
