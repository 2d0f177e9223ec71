import { NativeSha256 } from '@weir/io/openssl';
import { swapBytes } from '@weir/io/platform/native-memory';
import { chooseBackend } from '../choose-backend.ts';

/**
 * The compression function of SHA-256 (FIPS 180-4 §6.2.2), for constructions that often start from
 * the same states, such as HMAC under fixed keys.
 */
export interface Sha256Compression {
  /** Eight state words, updated by `compress`. */
  readonly state: Uint32Array;
  /** 64 bytes of input as 16 words in the machine's byte order; `compress` does not change them. */
  readonly block: Uint32Array;
  compress(): void;
}

/** The initial hash value (FIPS 180-4 §5.3.3). */
const SHA256_INITIAL: readonly number[] = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/** Bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4 §4.2.2). */
const ROUND_CONSTANTS = Uint32Array.of(
  0x428a2f98,
  0x71374491,
  0xb5c0fbcf,
  0xe9b5dba5,
  0x3956c25b,
  0x59f111f1,
  0x923f82a4,
  0xab1c5ed5,
  0xd807aa98,
  0x12835b01,
  0x243185be,
  0x550c7dc3,
  0x72be5d74,
  0x80deb1fe,
  0x9bdc06a7,
  0xc19bf174,
  0xe49b69c1,
  0xefbe4786,
  0x0fc19dc6,
  0x240ca1cc,
  0x2de92c6f,
  0x4a7484aa,
  0x5cb0a9dc,
  0x76f988da,
  0x983e5152,
  0xa831c66d,
  0xb00327c8,
  0xbf597fc7,
  0xc6e00bf3,
  0xd5a79147,
  0x06ca6351,
  0x14292967,
  0x27b70a85,
  0x2e1b2138,
  0x4d2c6dfc,
  0x53380d13,
  0x650a7354,
  0x766a0abb,
  0x81c2c92e,
  0x92722c85,
  0xa2bfe8a1,
  0xa81a664b,
  0xc24b8b70,
  0xc76c51a3,
  0xd192e819,
  0xd6990624,
  0xf40e3585,
  0x106aa070,
  0x19a4c116,
  0x1e376c08,
  0x2748774c,
  0x34b0bcb5,
  0x391c0cb3,
  0x4ed8aa4a,
  0x5b9cca4f,
  0x682e6ff3,
  0x748f82ee,
  0x78a5636f,
  0x84c87814,
  0x8cc70208,
  0x90befffa,
  0xa4506ceb,
  0xbef9a3f7,
  0xc67178f2,
);

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

/** SHA-256's compression function in JavaScript; no branch and no index depends on the input. */
export class BaselineSha256 implements Sha256Compression {
  readonly state = new Uint32Array(8);
  readonly block = new Uint32Array(16);
  readonly #schedule = new Int32Array(64);

  compress(): void {
    const { state } = this;
    const schedule = this.#expand();
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
    for (let t = 0; t < 64; t++) {
      const choice = (e & f) ^ (~e & g);
      const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const first = (h + sum1 + choice + ROUND_CONSTANTS[t]! + schedule[t]!) | 0; // 64 of both
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + sum0 + majority) | 0;
    }
    for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i]! += word; // 8 of both
  }

  /** Computes the message schedule of the block. */
  #expand(): Int32Array {
    const { block } = this;
    const words = this.#schedule;
    for (let t = 0; t < 16; t++) words[t] = swapBytes(block[t]!); // 16 of both
    for (let t = 16; t < 64; t++) {
      const [two, fifteen] = [words[t - 2]!, words[t - 15]!]; // t is at least 16
      const sigma1 = rotate(two, 17) ^ rotate(two, 19) ^ (two >>> 10);
      const sigma0 = rotate(fifteen, 7) ^ rotate(fifteen, 18) ^ (fifteen >>> 3);
      words[t] = sigma1 + words[t - 7]! + sigma0 + words[t - 16]!; // as above
    }
    return words;
  }
}

/** Selects the implementation of SHA-256's compression function of this process; see `chooseBackend`. */
export const chooseSha256 = (setting = process.env['WEIR_CRYPTO']): Sha256Compression =>
  chooseBackend<Sha256Compression>(
    { baseline: new BaselineSha256(), open: () => new NativeSha256(), agrees },
    setting,
  );

/** Whether a chain of blocks gives the same states as with the baseline. */
function agrees(candidate: Sha256Compression): boolean {
  const truth = new BaselineSha256();
  for (const { state, block } of [candidate, truth]) {
    state.set(SHA256_INITIAL);
    block.forEach((_, i) => (block[i] = Math.imul(i + 1, 0x9e3779b1)));
  }
  for (let round = 0; round < 8; round++) {
    for (const subject of [candidate, truth]) {
      subject.compress();
      subject.block[round] = subject.state[7 - round]!; // 8 of both
    }
    if (!truth.state.every((word, i) => word === candidate.state[i])) return false;
  }
  return true;
}

/** Selected for the first hash, so that a process without hashes does not load it. */
let chosen: Sha256Compression | undefined;

/**
 * Returns the compression function that this process uses. Its memory is shared by all callers: complete a hash
 * synchronously.
 */
export const sha256Compression = (): Sha256Compression => (chosen ??= chooseSha256());

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
