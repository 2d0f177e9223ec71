import { varintSizeAt } from './varint.ts';

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
