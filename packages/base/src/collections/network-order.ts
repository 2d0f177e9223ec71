/*
 * Numbers in network order (big-endian) at offsets that were checked before. The functions are small enough to
 * be inlined, and need no `DataView` of each packet.
 */

export const readUint16 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 8) | (bytes[at + 1] as number);

/** Reads a signed 32-bit word, as the words of an `IpEndpoint`. */
export const readInt32 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 24) |
  ((bytes[at + 1] as number) << 16) |
  ((bytes[at + 2] as number) << 8) |
  (bytes[at + 3] as number);

export const readUint32 = (bytes: Uint8Array, at: number): number => readInt32(bytes, at) >>> 0;

export function writeUint16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}
