import { LiteralReader, NO_BYTES, writePrefixInteger, writeText } from '../fields/literals.ts';
import { connectionError, streamError, type Http2Error } from './errors.ts';
import { fieldSize, type HttpField, staticTable } from '../fields/field.ts';
import {
  DECODER_TABLE_BYTES,
  FIELD_LIMIT,
  HEADER_LIST_LIMIT,
  ENCODER_TABLE_BYTES,
} from '../limits.ts';

/** The static table (RFC 7541, appendix A); its first entry has index 1. */
const HPACK_STATIC_TABLE = staticTable(
  ':authority',
  [':method', 'GET', 'POST'],
  [':path', '/', '/index.html'],
  [':scheme', 'http', 'https'],
  [':status', '200', '204', '206', '304', '400', '404', '500'],
  'accept-charset',
  ['accept-encoding', 'gzip, deflate'],
  'accept-language accept-ranges accept access-control-allow-origin age allow authorization',
  'cache-control content-disposition content-encoding content-language content-length',
  'content-location content-range content-type cookie date etag expect expires from host',
  'if-match if-modified-since if-none-match if-range if-unmodified-since last-modified link',
  'location max-forwards proxy-authenticate proxy-authorization range referer refresh',
  'retry-after server set-cookie strict-transport-security transfer-encoding user-agent vary',
  'via www-authenticate',
);

/** A static table entry that matches the name of a field, or the whole field. */
interface StaticMatch {
  readonly index: number;
  /** Whether the value matches as well as the name. */
  readonly isWhole: boolean;
}

/** Indexes by name, then by value; the first entry of a name also serves for the name alone. */
const BY_NAME = new Map<string, Map<string, number>>();
for (const [at, { name, value }] of HPACK_STATIC_TABLE.entries()) {
  const values = BY_NAME.get(name) ?? new Map<string, number>();
  values.set(value, at + 1);
  BY_NAME.set(name, values);
}

/** Finds the entry of a field, or else the first entry with its name. */
function findStatic(name: string, value: string): StaticMatch | undefined {
  const values = BY_NAME.get(name);
  if (!values) return undefined;
  const whole = values.get(value);
  if (whole !== undefined) return { index: whole, isWhole: true };
  const [first = 0] = values.values();
  return { index: first, isWhole: false };
}

/** The dynamic table of one direction (RFC 7541 §2.3.2, §4), limited in bytes. */
export class DynamicTable {
  /** Entries in order of insertion; those before `#evicted` are evicted. */
  #entries: HttpField[] = [];
  #evicted = 0;
  #size = 0;
  #capacity: number;
  /** A counter that changes with every insertion and eviction. */
  generation = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get count(): number {
    return this.#entries.length - this.#evicted;
  }

  /** Size of the entries in bytes, as defined in §4.1. */
  get size(): number {
    return this.#size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Changes the capacity, and evicts entries that no longer fit (§4.3). */
  resize(capacity: number): void {
    this.#capacity = capacity;
    this.#evictTo(capacity);
  }

  /** Returns the entry at a relative index; the newest entry is at 0. */
  at(place: number): HttpField | undefined {
    return place < this.count ? this.#entries[this.#entries.length - 1 - place] : undefined;
  }

  /** Inserts an entry; an entry larger than the table empties it (§4.4). */
  insert(field: HttpField): void {
    const size = fieldSize(field.name, field.value);
    this.#evictTo(Math.max(0, this.#capacity - size));
    this.generation++;
    if (size > this.#capacity) return;
    this.#entries.push(field);
    this.#size += size;
  }

  /** Finds an entry with a name and value, or else the newest with the name. */
  find(
    name: string,
    value: string,
  ): { readonly place: number; readonly isWhole: boolean } | undefined {
    let named: number | undefined;
    const last = this.#entries.length - 1;
    for (let at = last; at >= this.#evicted; at--) {
      const entry = this.#entries[at];
      if (entry?.name !== name) continue;
      if (entry.value === value) return { place: last - at, isWhole: true };
      named ??= last - at;
    }
    return named === undefined ? undefined : { place: named, isWhole: false };
  }

  #evictTo(size: number): void {
    while (this.#size > size) {
      const entry = this.#entries[this.#evicted++];
      if (!entry) break;
      this.#size -= fieldSize(entry.name, entry.value);
      this.generation++;
    }
    // Evicted entries are removed from the array before they outnumber the others.
    if (this.#evicted > 16 && this.#evicted * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#evicted);
      this.#evicted = 0;
    }
  }
}

/** Maximum number of octets of an encoded length or index. */
const INTEGER_BYTES = 9;

/** Number of header lists whose blocks are cached. */
const REMEMBERED_LISTS = 8;

interface Remembered {
  readonly block: Uint8Array;
  readonly generation: number;
}

/**
 * Encodes header lists with a dynamic table (RFC 7541 §3). Every field that fits is indexed, so that it takes one or
 * two octets in the next list. The block of a list (the same array) is reused as long as the table does not change.
 */
export class HpackEncoder {
  readonly #table = new DynamicTable(ENCODER_TABLE_BYTES);
  readonly #remembered = new Map<readonly HttpField[], Remembered>();
  /** The minimum capacity since the last block, announced before the current capacity (§4.2). */
  #smallest: number | undefined;

  /** Size of the dynamic table in bytes, as defined in §4.1. */
  get tableSize(): number {
    return this.#table.size;
  }

  /** Called when the peer has set HEADER_TABLE_SIZE. */
  limit(peerCapacity: number): void {
    const capacity = Math.min(peerCapacity, ENCODER_TABLE_BYTES);
    if (capacity === this.#table.capacity) return;
    this.#smallest = Math.min(this.#smallest ?? this.#table.capacity, capacity);
    this.#table.resize(capacity);
  }

  /** Returns the header block of `fields`, whose texts are latin1. Neither may be modified afterwards. */
  encode(fields: readonly HttpField[]): Uint8Array {
    const known = this.#remembered.get(fields);
    if (known && known.generation === this.#table.generation && this.#smallest === undefined) {
      return known.block;
    }
    const { generation } = this.#table;
    const isPlain = this.#smallest === undefined;
    const block = this.#write(fields);
    if (isPlain && generation === this.#table.generation) {
      if (this.#remembered.size >= REMEMBERED_LISTS) this.#remembered.clear();
      this.#remembered.set(fields, { block, generation });
    }
    return block;
  }

  #write(fields: readonly HttpField[]): Uint8Array {
    let bound = 2 * INTEGER_BYTES;
    for (const { name, value } of fields) bound += name.length + value.length + 3 * INTEGER_BYTES;
    const out = new Uint8Array(bound);
    let at = this.#writeUpdates(out);
    for (const { name, value } of fields) at = this.#writeField(out, at, name, value);
    return out.slice(0, at);
  }

  #writeUpdates(out: Uint8Array): number {
    if (this.#smallest === undefined) return 0;
    const { capacity } = this.#table;
    let at = 0;
    if (this.#smallest < capacity) at = writePrefixInteger(out, at, this.#smallest, 5, SIZE_UPDATE);
    this.#smallest = undefined;
    return writePrefixInteger(out, at, capacity, 5, SIZE_UPDATE);
  }

  #writeField(out: Uint8Array, offset: number, name: string, value: string): number {
    const fixed = findStatic(name, value);
    if (fixed?.isWhole) return writePrefixInteger(out, offset, fixed.index, 7, INDEXED);
    const own = this.#table.find(name, value);
    if (own?.isWhole) {
      return writePrefixInteger(out, offset, HPACK_STATIC_TABLE.length + 1 + own.place, 7, INDEXED);
    }
    const place = own && HPACK_STATIC_TABLE.length + 1 + own.place;
    const index = fixed?.index ?? place ?? 0;
    // An entry that does not fit would empty the table.
    const isIndexed = fieldSize(name, value) <= this.#table.capacity;
    let at = isIndexed
      ? writePrefixInteger(out, offset, index, 6, INCREMENTAL)
      : writePrefixInteger(out, offset, index, 4, UNINDEXED);
    if (index === 0) at = writeText(out, at, name, 7, 0);
    at = writeText(out, at, value, 7, 0);
    if (isIndexed) this.#table.insert({ name, value });
    return at;
  }
}

/** Representations, by the first octet (RFC 7541 §6). */
const INDEXED = 0x80;
const INCREMENTAL = 0x40;
const SIZE_UPDATE = 0x20;
const UNINDEXED = 0x00;

/** Maximum length in bytes of blocks that are compared with the last one. */
const REMEMBERED_BYTES = 64;

/**
 * Decodes header blocks with a dynamic table (RFC 7541 §3). Text is latin1.
 *
 * Most header blocks of a connection are equal: for a block that equals the last one, with the table unchanged, the
 * same list is returned, which callers must not change.
 */
export class HpackDecoder extends LiteralReader {
  readonly #table = new DynamicTable(DECODER_TABLE_BYTES);
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
    this.bytes = block;
    this.at = 0;
    const fields = this.#read();
    this.bytes = NO_BYTES;
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
    while (this.at < this.bytes.length) {
      const first = this.bytes[this.at] as number; // below the length
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
    const capacity = this.readNumber(5);
    if (capacity === undefined || capacity > DECODER_TABLE_BYTES) {
      return 'a table size update exceeds the limit';
    }
    this.#table.resize(capacity);
    return undefined;
  }

  #field(first: number): HttpField | string {
    if (first & INDEXED) {
      return this.#entry(this.readNumber(7)) ?? 'a field has an index beyond the tables';
    }
    const isIncremental = (first & INCREMENTAL) !== 0;
    const index = this.readNumber(isIncremental ? 6 : 4);
    if (index === undefined) return 'a field has an invalid index';
    const name = index === 0 ? this.readText(7) : this.#entry(index)?.name;
    if (name === undefined) {
      return index === 0
        ? 'a field name is malformed'
        : 'a field name has an index beyond the tables';
    }
    const value = this.readText(7);
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
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false;
  return true;
}
