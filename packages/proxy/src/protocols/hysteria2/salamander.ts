import { suffixedBlake2b, type SuffixedHash } from '@weir/crypto/hash/blake2b';
import type { RandomSource } from '@weir/base/random';

/** Random bytes before each datagram. */
export const SALT_LENGTH = 8;

/** Words of the key, which is repeated over the datagram. */
const KEY_WORDS = 8;

/**
 * Obfuscation of datagrams (extras/obfs/salamander.go of the reference): the datagram is XORed with the BLAKE2b-256 of
 * password and salt, repeated; the salt precedes the result. The obfuscation hides QUIC from filters, and protects no
 * secret.
 *
 * Implements `PacketObfuscation` of packages/quic/src.
 */
export class Salamander {
  readonly overhead = SALT_LENGTH;
  readonly #random: RandomSource;
  readonly #hash: SuffixedHash;
  /** The digest as words in native byte order, like the words of the datagram. */
  readonly #digest: Int32Array;
  /** The digest, rotated to the offset at which the words of the datagram begin. */
  readonly #key = new Int32Array(KEY_WORDS);
  #memory: ArrayBufferLike | undefined;
  #words: Int32Array = new Int32Array(0);

  constructor(password: string, random: RandomSource, hashes = suffixedBlake2b) {
    this.#random = random;
    this.#hash = hashes(Buffer.from(password), SALT_LENGTH);
    const { buffer, byteOffset } = this.#hash.digest;
    this.#digest = new Int32Array(buffer, byteOffset, KEY_WORDS);
  }

  /** Writes the obfuscated `datagram` into `out` from `at` on, and returns its length. */
  seal(datagram: Uint8Array, out: Uint8Array, at: number): number {
    const { suffix } = this.#hash;
    this.#random.fill(suffix);
    for (let index = 0; index < SALT_LENGTH; index++) out[at + index] = suffix[index] as number; // 8
    const start = at + SALT_LENGTH;
    out.set(datagram, start);
    this.#hash.compute();
    this.#combine(out, start, start + datagram.length);
    return SALT_LENGTH + datagram.length;
  }

  /**
   * Returns the payload, decoded in place in the memory of the argument; `undefined` when nothing follows
   * the salt.
   */
  open(datagram: Uint8Array): Uint8Array | undefined {
    if (datagram.length <= SALT_LENGTH) return undefined;
    const { suffix } = this.#hash;
    for (let index = 0; index < SALT_LENGTH; index++) suffix[index] = datagram[index] as number; // 8
    this.#hash.compute();
    this.#combine(datagram, SALT_LENGTH, datagram.length);
    return datagram.subarray(SALT_LENGTH);
  }

  /** XORs a part of `bytes` with the digest: single bytes up to a word boundary, then words. */
  #combine(bytes: Uint8Array, start: number, end: number): void {
    const { digest } = this.#hash;
    const base = bytes.byteOffset;
    const aligned = Math.min(end, start + (-(base + start) & 3));
    for (let at = start; at < aligned; at++) {
      bytes[at] = (bytes[at] as number) ^ (digest[at - start] as number); // both in range
    }
    const words = this.#wordsOf(bytes);
    const key = this.#turn(aligned - start);
    const first = (base + aligned) >> 2;
    const count = (end - aligned) >> 2;
    for (let index = 0; index < count; index++) {
      const at = first + index;
      words[at] = (words[at] as number) ^ (key[index & (KEY_WORDS - 1)] as number); // both in range
    }
    for (let at = aligned + count * 4; at < end; at++) {
      bytes[at] = (bytes[at] as number) ^ (digest[(at - start) & 31] as number); // both in range
    }
  }

  /** Returns the key from its byte `offset` (0 to 3) on. */
  #turn(offset: number): Int32Array {
    if (offset === 0) return this.#digest;
    // All supported machines are little-endian.
    const low = offset * 8;
    for (let index = 0; index < KEY_WORDS; index++) {
      const word = this.#digest[index] as number; // 8 words
      const next = this.#digest[(index + 1) & (KEY_WORDS - 1)] as number; // 8 words
      this.#key[index] = (word >>> low) | (next << (32 - low));
    }
    return this.#key;
  }

  /** Returns the memory as words; the datagrams of a batch share it. */
  #wordsOf({ buffer }: Uint8Array): Int32Array {
    if (buffer !== this.#memory) {
      this.#memory = buffer;
      this.#words = new Int32Array(buffer, 0, buffer.byteLength >> 2);
    }
    return this.#words;
  }
}
