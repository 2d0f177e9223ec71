/** Bytes outside the heap that never move, with their address. They live as long as this object. */
export interface NativeMemory {
  readonly bytes: Buffer<ArrayBuffer>;
  /** The same bytes as `uint32_t`, in the order of the machine (both machines are little-endian). */
  readonly words: Uint32Array<ArrayBuffer>;
  /** The address of the first byte: numbers are the cheapest arguments of a native call. */
  readonly at: number;
}

/**
 * Memory for native calls, cleared.
 *
 * @param addressOf gives the address of a buffer's first byte.
 */
export function nativeMemory(size: number, addressOf: (bytes: Uint8Array) => number): NativeMemory {
  // A multiple of 8, so that every structure in it may be aligned to its words.
  const bytes = Buffer.from(new ArrayBuffer(Math.ceil(size / 8) * 8));
  return { bytes, words: new Uint32Array(bytes.buffer), at: addressOf(bytes) };
}

/** Writes an unsigned 64-bit value, such as an address or a `size_t`, at a word. */
export function putWord64(words: Uint32Array, index: number, value: number): void {
  words[index] = value >>> 0;
  words[index + 1] = Math.floor(value / 2 ** 32);
}

/** A 32-bit word with its bytes in reverse order, between network and machine; signed. */
export const swapBytes = (word: number): number =>
  (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
