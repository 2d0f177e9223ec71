import { readVarint, TRUNCATED, varintSizeAt } from './varint.ts';

/**
 * Reads the fields of frames in sequence. If the bytes end too early, a method returns 0 or the current offset,
 * and sets `isTruncated`.
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

  /** Returns the next number, or `TOO_LARGE`. */
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

  /** Returns the next number, at most 2^53 - 1. */
  clamped(): number {
    return Math.min(this.number(), Number.MAX_SAFE_INTEGER);
  }

  /** Skips `size` bytes and returns their offset. */
  range(size: number): number {
    const { at } = this;
    if (size > this.end - at) this.isTruncated = true;
    else this.at = at + size;
    return at;
  }
}
