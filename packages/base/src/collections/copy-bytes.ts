const { copy } = Buffer.prototype;

/**
 * Copies a part of one array into another. As a method of `Buffer` it needs no view of the part,
 * which `set` would: no allocation per packet.
 */
export function copyBytes(
  from: Uint8Array,
  at: number,
  size: number,
  to: Uint8Array,
  toAt: number,
): void {
  copy.call(from, to, toAt, at, at + size);
}

/**
 * Returns a copy of a part, in its own memory. `slice` of a `Buffer` is a view of the same memory, which is reused for
 * the next datagram.
 */
export const copyOf = (bytes: Uint8Array, start: number, end: number): Uint8Array =>
  new Uint8Array(bytes.subarray(start, end));
