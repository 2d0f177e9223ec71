/** The largest size of a packet number on the wire, in bytes. */
export const MAX_PACKET_NUMBER_SIZE = 4;

/** The number of values that each size distinguishes; a table, since a power would be computed for each packet. */
const WINDOWS: readonly number[] = [1, 2 ** 8, 2 ** 16, 2 ** 24, 2 ** 32];

/**
 * Returns the full packet number for one truncated to `size` bytes (RFC 9000 §17.1, §A.3).
 *
 * @param largest largest_pn: the largest number received in the space; -1 before the first.
 */
export function decodePacketNumber(largest: number, truncated: number, size: number): number {
  const expected = largest + 1;
  const window = WINDOWS[size] as number; // `size` is at most MAX_PACKET_NUMBER_SIZE
  const half = window / 2;
  let candidate = expected - (expected % window) + truncated;
  if (candidate <= expected - half) candidate += window;
  else if (candidate > expected + half && candidate >= window) candidate -= window;
  // No connection has so many packets, so the packet is not authentic.
  return Math.min(candidate, Number.MAX_SAFE_INTEGER);
}

/**
 * Returns the size in bytes from which the peer can decode a packet number (RFC 9000 §17.1, §A.2).
 *
 * @param largestAcknowledged largest_acked: the largest number that the peer has acknowledged; -1 for none.
 */
export function packetNumberSize(number: number, largestAcknowledged: number): number {
  const range = (number - largestAcknowledged) * 2;
  return range <= 0xff ? 1 : range <= 0xffff ? 2 : range <= 0xff_ffff ? 3 : 4;
}

/** Writes the low `size` bytes of a packet number. Returns the offset after them. */
export function writePacketNumber(
  out: Uint8Array,
  offset: number,
  number: number,
  size: number,
): number {
  const low = number % 2 ** 32;
  for (let i = 0; i < size; i++) out[offset + i] = low >>> (8 * (size - 1 - i));
  return offset + size;
}
