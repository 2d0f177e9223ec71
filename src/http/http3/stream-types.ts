import type { ByteLink } from '../../net/links/link.ts';
import { readVarint, TRUNCATED, varintSizeAt } from '../../quic/wire/varint.ts';

/** Types of unidirectional streams (RFC 9114 §6.2, RFC 9204 §4.2). */
export const StreamType = {
  CONTROL: 0x00,
  PUSH: 0x01,
  QPACK_ENCODER: 0x02,
  QPACK_DECODER: 0x03,
} as const;

/** The integer at the beginning of a stream. */
export interface FirstVarint {
  /** The integer; TRUNCATED if the stream ended before it was complete. */
  readonly value: number;
  /** All bytes that were read; the integer is the first `size` bytes. */
  readonly bytes: Uint8Array;
  readonly size: number;
}

/** Reads until the first integer of a stream is complete: its type, or that of its first frame. */
export async function readFirstVarint(link: ByteLink): Promise<FirstVarint> {
  let bytes: Uint8Array = new Uint8Array(0);
  for (;;) {
    const chunk = await link.read();
    if (chunk === undefined) return { value: TRUNCATED, bytes, size: bytes.length };
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    const value = readVarint(bytes, 0, bytes.length);
    if (value !== TRUNCATED) return { value, bytes, size: varintSizeAt(bytes, 0) };
  }
}
