import { readUint32, writeUint32 } from '../../collections/network-order.ts';

/** The frame layer of HTTP/2 (RFC 9113 §4, §6): constants, and writers of frames. */

export const FrameType = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const Flag = {
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

export const FRAME_HEADER_BYTES = 9;
/** Payload lengths of frames of fixed length. */
export const RST_STREAM_BYTES = 4;
export const WINDOW_UPDATE_BYTES = 4;
export const PRIORITY_BYTES = 5;
export const PING_BYTES = 8;
export const SETTING_BYTES = 6;
/** Length of the fixed part of GOAWAY in bytes. */
export const GOAWAY_BYTES = 8;

/** The client connection preface (§3.4). */
export const PREFACE = Uint8Array.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', (char) =>
  char.charCodeAt(0),
);

/** Reads the 31 bits of a stream identifier or a window increment; the bit above is reserved. */
export const readUint31 = (bytes: Uint8Array, at: number): number =>
  readUint32(bytes, at) & ~(1 << 31);

/** Writes the header of a frame (§4.1). Returns the offset after the header. */
export function writeFrameHeader(
  out: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): number {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  writeUint32(out, at + 5, streamId);
  return at + FRAME_HEADER_BYTES;
}
