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
