import { GeoFileError } from './geo-data.ts';

/** Wire types of protocol buffers (protobuf.dev, "Encoding"); groups are deprecated. */
const VARINT = 0;
const LENGTH_DELIMITED = 2;
const FIXED_64 = 1;
const FIXED_32 = 5;

const MAX_VARINT = 10;

/**
 * Iterates over the fields of one protobuf message in place, without allocating.
 *
 * After `next()` has returned true, `field` and `wire` are those of the current field; `value` is its varint,
 * or `start` and `end` delimit its content.
 */
export class WireReader {
  readonly bytes: Uint8Array;
  field = 0;
  wire = 0;
  value = 0;
  start = 0;
  end = 0;
  #at: number;
  readonly #limit: number;

  constructor(bytes: Uint8Array, from = 0, to = bytes.length) {
    this.bytes = bytes;
    this.#at = from;
    this.#limit = to;
  }

  /**
   * Advances to the next field; returns false at the end of the message.
   * @throws {GeoFileError} for an invalid message
   */
  next(): boolean {
    if (this.#at === this.#limit) return false;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    this.wire = tag % 8;
    if (this.field === 0) throw new GeoFileError('a field has the number 0');
    this.value = 0;
    if (this.wire === VARINT) this.value = this.#varint();
    else this.#content();
    return true;
  }

  /** Returns the content of a length-delimited field. @throws {GeoFileError} for another wire type */
  content(): Uint8Array {
    this.#expect(LENGTH_DELIMITED);
    return this.bytes.subarray(this.start, this.end);
  }

  /** Returns a reader of the message in this field. */
  message(): WireReader {
    this.#expect(LENGTH_DELIMITED);
    return new WireReader(this.bytes, this.start, this.end);
  }

  text(): string {
    return Buffer.from(this.content()).toString();
  }

  /** Returns the value of a varint field. @throws {GeoFileError} for another wire type */
  number(): number {
    this.#expect(VARINT);
    return this.value;
  }

  #content(): void {
    const length = this.#contentLength();
    this.start = this.#at;
    this.end = this.#at + length;
    if (this.end > this.#limit) throw new GeoFileError('a field reaches beyond its message');
    this.#at = this.end;
  }

  #contentLength(): number {
    if (this.wire === LENGTH_DELIMITED) return this.#varint();
    if (this.wire === FIXED_64) return 8;
    if (this.wire === FIXED_32) return 4;
    throw new GeoFileError(`a field has the unknown wire type ${this.wire}`);
  }

  #expect(wire: number): void {
    if (this.wire === wire) return;
    throw new GeoFileError(
      `field ${this.field} has the wire type ${this.wire} in place of ${wire}`,
    );
  }

  #varint(): number {
    let value = 0;
    for (let i = 0; i < MAX_VARINT; i++) {
      if (this.#at === this.#limit) throw new GeoFileError('a number is truncated');
      const byte = this.bytes[this.#at++] ?? 0;
      // Values beyond 53 bits lose digits; no field in use has them.
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw new GeoFileError('a number has more than 10 bytes');
  }
}
