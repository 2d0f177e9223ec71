import { writePrefixInteger } from '../../fields/prefix-integer.ts';
import { writeText } from '../../fields/huffman.ts';
import { fieldSize, type HttpField } from '../../fields/field.ts';
import { ENCODER_TABLE_BYTES } from '../../limits.ts';
import { DynamicTable, findStatic, HPACK_STATIC_TABLE } from './tables.ts';

/** First octets of representations (RFC 7541 §6). */
const INDEXED = 0x80;
const INCREMENTAL = 0x40;
const SIZE_UPDATE = 0x20;
const UNINDEXED = 0x00;

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
