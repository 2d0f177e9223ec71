import { swapBytes } from '@weir/io/platform/native-memory';
import { SHA256_INITIAL, type Sha256Compression } from './sha256-compression.ts';

/** Length of a block in bytes. */
const SHA256_BLOCK = 64;
/** Length of a digest in bytes. */
export const SHA256_DIGEST = 32;

const STATE_WORDS = 8;
const BLOCK_WORDS = 16;

/** The state of SHA-256 after whole blocks, from which several inputs with the same prefix can continue. */
export interface Sha256State {
  readonly words: Uint32Array;
  /** Number of blocks hashed so far. */
  blocks: number;
}

export const newSha256State = (): Sha256State => ({
  words: Uint32Array.from(SHA256_INITIAL),
  blocks: 0,
});

/** The inner and outer padding of HMAC keys (RFC 2104 §2), in each byte of a word. */
const INNER = 0x36363636;
const OUTER = 0x5c5c5c5c;
/** The padding bit after an input (FIPS 180-4 §5.1.1). */
const END_BIT = 0x80;

/**
 * Computes SHA-256 from intermediate states. `finish` reads its input from `block` and writes the digest there, so that
 * digests of digests need no copy.
 */
export class Sha256Chain {
  /** The input block of 64 bytes. */
  readonly block: Uint8Array;
  readonly #compression: Sha256Compression;
  readonly #words: Uint32Array;

  constructor(compression: Sha256Compression) {
    this.#compression = compression;
    const { block } = compression;
    this.#words = block;
    this.block = new Uint8Array(block.buffer, block.byteOffset, SHA256_BLOCK);
  }

  /**
   * Hashes the padded key of an HMAC (RFC 2104 §2), from the state `from` to the state `to`, which may be the same
   * object.
   */
  takeKey(key: Uint8Array, pad: 'inner' | 'outer', from: Sha256State, to: Sha256State): void {
    if (key.length > SHA256_BLOCK) throw new RangeError('a key of more than a block');
    const { block } = this;
    const words = this.#words;
    const value = pad === 'inner' ? INNER : OUTER;
    // Loops, because for one block a call of a typed array's method takes longer.
    for (let i = 0; i < key.length; i++) block[i] = key[i]!; // 64 at most
    this.#clear(key.length);
    for (let i = 0; i < BLOCK_WORDS; i++) words[i]! ^= value; // 16 words
    this.#run(from);
    const { state } = this.#compression;
    for (let i = 0; i < STATE_WORDS; i++) to.words[i] = state[i]!; // 8 of both
    to.blocks = from.blocks + 1;
  }

  /**
   * Finishes the hash in state `from` with the first `length` bytes of `block`, at most 55. The digest replaces the
   * first 32 bytes of `block`.
   */
  finish(from: Sha256State, length: number): void {
    if (!(length >= 0 && length < SHA256_BLOCK - 8))
      throw new RangeError('a second block is needed');
    const words = this.#words;
    this.#clear(length);
    this.block[length] = END_BIT;
    words[BLOCK_WORDS - 1] = swapBytes((from.blocks * SHA256_BLOCK + length) * 8);
    this.#run(from);
    const { state } = this.#compression;
    for (let i = 0; i < STATE_WORDS; i++) words[i] = swapBytes(state[i]!); // 8 of 8, and of 16
  }

  /** Zeroes the block from `start` on. */
  #clear(start: number): void {
    let at = start;
    for (; at % 4 !== 0; at++) this.block[at] = 0;
    for (let word = at / 4; word < BLOCK_WORDS; word++) this.#words[word] = 0;
  }

  #run({ words }: Sha256State): void {
    const { state } = this.#compression;
    for (let i = 0; i < STATE_WORDS; i++) state[i] = words[i]!; // 8 of both
    this.#compression.compress();
  }
}
