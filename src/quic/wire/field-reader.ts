import { readVarint, TRUNCATED, varintSizeAt } from './varint.ts';

/**
 * The fields of frames, one behind the other. Where the bytes end too early a method returns 0 or the
 * place that was reached, and sets `isTruncated`.
 */
export class FieldReader {
  bytes: Uint8Array = new Uint8Array(0);
  at = 0;
  end = 0;
  isTruncated = false;

  begin(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
    this.isTruncated = false;
  }

  /** The next number, or `TOO_LARGE`. */
  number(): number {
    const { bytes, at } = this;
    const value = readVarint(bytes, at, this.end);
    if (value === TRUNCATED) {
      this.isTruncated = true;
      return 0;
    }
    this.at = at + varintSizeAt(bytes, at);
    return value;
  }

  /** The next number, at most 2^53 - 1. */
  clamped(): number {
    return Math.min(this.number(), Number.MAX_SAFE_INTEGER);
  }

  /** Takes `size` bytes and returns where they start. */
  range(size: number): number {
    const { at } = this;
    if (size > this.end - at) this.isTruncated = true;
    else this.at = at + size;
    return at;
  }
}
