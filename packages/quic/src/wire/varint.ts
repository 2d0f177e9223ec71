import { readUint32, writeUint32 } from '@weir/base/bytes';

/** The result of `readVarint` if the bytes end within the number. */
export const TRUNCATED = -1;

/** The result of `readVarint` for a value above 2^53 - 1, which a number cannot represent exactly. */
export const TOO_LARGE = Infinity;

const WORD = 2 ** 32;
/** The largest upper word of an exact value. */
const LARGEST_HIGH = 2 ** 21 - 1;

/**
 * Reads a variable-length integer (RFC 9000 §16); returns `TRUNCATED` or `TOO_LARGE` if it cannot. The next byte is at
 * `offset + varintSizeAt(bytes, offset)`.
 */
export function readVarint(bytes: Uint8Array, offset: number, end: number): number {
  if (offset >= end) return TRUNCATED;
  const first = bytes[offset] as number; // below `end`
  if (first < 0x40) return first;
  const size = 1 << (first >> 6);
  if (offset + size > end) return TRUNCATED;
  if (size === 2) return ((first & 0x3f) << 8) | (bytes[offset + 1] as number);
  const word = readUint32(bytes, offset) & 0x3fff_ffff;
  if (size === 4) return word;
  if (word > LARGEST_HIGH) return TOO_LARGE;
  return word * WORD + readUint32(bytes, offset + 4);
}

/** Returns the size of the integer at `offset`: 1, 2, 4 or 8 bytes. */
export const varintSizeAt = (bytes: Uint8Array, offset: number): number =>
  1 << ((bytes[offset] as number) >> 6); // the caller has read it

/** Returns the size of the shortest encoding of an integer from 0 to 2^53 - 1, in bytes. */
export const varintSize = (value: number): number =>
  value < 0x40 ? 1 : value < 0x4000 ? 2 : value < 0x4000_0000 ? 4 : 8;

/** Writes an integer from 0 to 2^53 - 1 in its shortest encoding. Returns the offset after it. */
export function writeVarint(out: Uint8Array, offset: number, value: number): number {
  if (value < 0x40) {
    out[offset] = value;
    return offset + 1;
  }
  if (value < 0x4000) return writeVarint2(out, offset, value);
  if (value < 0x4000_0000) {
    writeUint32(out, offset, value | 0x8000_0000);
    return offset + 4;
  }
  writeUint32(out, offset, Math.floor(value / WORD) | 0xc000_0000);
  writeUint32(out, offset + 4, value % WORD);
  return offset + 8;
}

/** Writes an integer below 16,384 in two bytes, even if one suffices: for lengths that are filled in later. */
export function writeVarint2(out: Uint8Array, offset: number, value: number): number {
  out[offset] = 0x40 | (value >> 8);
  out[offset + 1] = value & 0xff;
  return offset + 2;
}

/**
 * Whether a varint exceeds 2^60, the maximum number of streams (RFC 9000 §4.6). Compares bytes, because such
 * values are above 2^53.
 */
export function exceedsStreamCount(bytes: Uint8Array, at: number): boolean {
  if (varintSizeAt(bytes, at) < 8) return false;
  const top = (bytes[at] as number) & 0x3f; // the caller has read it
  if (top !== 0x10) return top > 0x10;
  for (let i = 1; i < 8; i++) if (bytes[at + i] !== 0) return true;
  return false;
}
