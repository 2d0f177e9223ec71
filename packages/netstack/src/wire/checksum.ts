/*
 * The Internet checksum (RFC 1071): the ones' complement of the ones' complement sum of 16-bit words in
 * network order. Here a *sum* is folded to 16 bits and not complemented. The sum of one part is the initial value
 * for the next, provided that each part but the last has an even number of bytes.
 */

/** Size in bytes below which a loop over bytes is faster than a view of 32-bit words. */
const SHORT_BYTES = 48;

/** Whether this machine is little-endian. */
const LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/**
 * Views of buffers as words. Packets are in a few arenas, and a new view for each packet would cost more than the
 * sum of a short one.
 */
const views = new WeakMap<ArrayBufferLike, Int32Array>();

function wordsOf(buffer: ArrayBufferLike): Int32Array {
  const known = views.get(buffer);
  if (known !== undefined) return known;
  const words = new Int32Array(buffer, 0, buffer.byteLength >>> 2);
  views.set(buffer, words);
  return words;
}

/** Folds an unsigned sum of 32 bits to 16 bits. */
function fold(sum: number): number {
  const once = (sum & 0xffff) + (sum >>> 16);
  return (once & 0xffff) + (once >>> 16);
}

/** Returns the sum of bytes that begin at an odd offset, from the sum computed as if it were even (RFC 1071 §2 (B)). */
const swapSum = (sum: number): number => ((sum & 0xff) << 8) | (sum >>> 8);

/** Returns the checksum field for a sum. */
export const complement = (sum: number): number => ~sum & 0xffff;

/**
 * Returns the sum of the bytes from `start` to `end`, at most 256 KiB, added to `initial`. An odd last byte is padded
 * with a zero.
 */
export function sumOf(bytes: Uint8Array, start: number, end: number, initial = 0): number {
  if (end - start < SHORT_BYTES) return fold(sumBytes(bytes, start, end) + initial);
  const words = wordsOf(bytes.buffer);
  const first = bytes.byteOffset + start;
  const head = start + (-first & 3);
  const from = (bytes.byteOffset + head) >>> 2;
  const count = (end - head) >>> 2;
  const tail = head + (count << 2);
  const odd = (head - start) & 1;
  // The bytes of the sum are swapped if this machine's order is not network order, and if the words begin at an
  // odd offset: not at all if both are true.
  let sum = sumWords(words, from, from + count);
  if (LITTLE_ENDIAN !== (odd === 1)) sum = swapSum(sum);
  let rest = sumBytes(bytes, tail, end);
  if (odd === 1) rest = swapSum(fold(rest));
  return fold(sumBytes(bytes, start, head) + sum + rest + initial);
}

/**
 * Returns the sum of both halves of the words from `from` to `to`, at most 2^16 words, in this machine's order. The
 * words are added modulo 2^32 and their upper halves separately; at the end the upper halves are subtracted from the
 * first sum. The fastest of nine measured variants (4 GB/s; bytes 1.3, 16-bit words 2.5).
 */
function sumWords(words: Int32Array, from: number, to: number): number {
  let all = 0;
  let upper = 0;
  for (let at = from; at < to; at++) {
    const word = words[at] as number; // below the length of the view
    all = (all + word) | 0;
    upper = (upper + (word >>> 16)) | 0;
  }
  const lower = all - (upper << 16);
  return fold(fold(lower >>> 0) + fold(upper));
}

function sumBytes(bytes: Uint8Array, start: number, end: number): number {
  let sum = 0;
  let at = start;
  for (; at + 1 < end; at += 2) sum += ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  if (at < end) sum += (bytes[at] as number) << 8;
  return sum;
}

/**
 * Returns the sum of the pseudo-header of TCP, UDP and ICMPv6 (RFC 9293 §3.1, RFC 8200 §8.1).
 *
 * @param addresses the offset of the source address, which the destination address follows, as in the
 *   headers of both versions.
 * @param addressSize 4 or 16.
 * @param length bytes of the transport header and its payload.
 */
export function pseudoHeaderSum(
  bytes: Uint8Array,
  addresses: number,
  addressSize: number,
  protocol: number,
  length: number,
): number {
  return fold(sumBytes(bytes, addresses, addresses + 2 * addressSize) + protocol + length);
}
