/** Bytes outside the heap that never move, with their address. Freed with this object. */
export interface NativeMemory {
  readonly bytes: Buffer<ArrayBuffer>;
  /** The memory as `uint32_t`, in the machine's byte order (both supported machines are little-endian). */
  readonly words: Uint32Array<ArrayBuffer>;
  /** The address of the first byte: numbers are the cheapest arguments of a native call. */
  readonly at: number;
}

/**
 * Allocates zeroed memory for native calls.
 * @param addressOf returns the address of a buffer's first byte.
 */
export function nativeMemory(size: number, addressOf: (bytes: Uint8Array) => number): NativeMemory {
  // A multiple of 8, so that every structure can be viewed as words.
  const bytes = Buffer.from(new ArrayBuffer(Math.ceil(size / 8) * 8));
  return { bytes, words: new Uint32Array(bytes.buffer), at: addressOf(bytes) };
}

/** Writes an unsigned 64-bit value, such as an address or a `size_t`, at a word index. */
export function putWord64(words: Uint32Array, index: number, value: number): void {
  words[index] = value >>> 0;
  words[index + 1] = Math.floor(value / 2 ** 32);
}

/** Reads an unsigned 64-bit value below 2^53, such as an address, at a word index. */
export const word64 = (words: Uint32Array, index: number): number =>
  (words[index] ?? 0) + (words[index + 1] ?? 0) * 2 ** 32;

/** Reverses the bytes of a 32-bit word, between network and machine order; the result is signed. */
export const swapBytes = (word: number): number =>
  (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
