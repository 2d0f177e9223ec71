import { hkdfSync } from 'node:crypto';
import { swapBytes } from '@weir/io/platform/native-memory';
import { NativeSha1 } from '@weir/io/openssl';
import { chooseBackend } from '../choose-backend.ts';

/**
 * Derives a key by HKDF with SHA-1 (RFC 5869), for inputs of one block each.
 * @param key at most 55 bytes.
 * @param salt at most 64 bytes.
 * @param info at most 34 bytes.
 * @param length of the result in bytes, 1 to 40.
 * @throws {RangeError} for longer arguments.
 */
type HkdfSha1 = (
  key: Uint8Array,
  salt: Uint8Array,
  info: Uint8Array,
  length: number,
) => Uint8Array<ArrayBuffer>;

const BLOCK = 64;
const DIGEST = 20;
/** Maximum input length in bytes whose padding and length fit into the same block. */
const LAST = BLOCK - 9;

function checkLengths(key: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number): void {
  const fits =
    key.length <= LAST &&
    salt.length <= BLOCK &&
    DIGEST + info.length + 1 <= LAST &&
    length > 0 &&
    length <= 2 * DIGEST;
  if (!fits) throw new RangeError('the inputs of a derivation need more than a block');
}

/** HKDF-SHA1 of node:crypto: 5 µs, and job and key objects for the garbage collector. */
export const baselineHkdfSha1: HkdfSha1 = (key, salt, info, length) => {
  checkLengths(key, salt, info, length);
  return new Uint8Array(hkdfSync('sha1', key, salt, info, length));
};

/** The initial hash value (FIPS 180-4 §5.3.1). */
const INITIAL = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0);
const STATE_WORDS = 5;
const BLOCK_WORDS = 16;

/** The inner and outer padding of HMAC keys (RFC 2104 §2), in each byte of a word. */
const INNER = 0x36363636;
const OUTER = 0x5c5c5c5c;
/** The padding bit after an input (FIPS 180-4 §5.1.1). */
const END_BIT = 0x80;

/** HKDF-SHA1 on OpenSSL's compression function: eight calls for a key of up to 20 bytes. */
export class OpensslHkdfSha1 {
  readonly #compression: NativeSha1;
  readonly #words: Uint32Array;
  readonly #bytes: Uint8Array;
  /** The states after the inner and outer key blocks of the current HMAC key. */
  readonly #inner = new Uint32Array(STATE_WORDS);
  readonly #outer = new Uint32Array(STATE_WORDS);

  /** @throws {NativeError} on machines where OpenSSL cannot be called. */
  constructor() {
    this.#compression = new NativeSha1();
    const { block } = this.#compression;
    this.#words = block;
    this.#bytes = new Uint8Array(block.buffer, block.byteOffset, BLOCK);
  }

  readonly derive: HkdfSha1 = (key, salt, info, length) => {
    checkLengths(key, salt, info, length);
    const out = new Uint8Array(length);
    this.#put(salt, 0);
    this.#takeKey(salt.length);
    this.#put(key, 0);
    this.#hmac(key.length);
    this.#takeKey(DIGEST);
    // T(1) has no predecessor; T(2) follows T(1) (RFC 5869 §2.3).
    let at = 0;
    for (let counter = 1, before = 0; at < length; counter++, before = DIGEST) {
      this.#put(info, before);
      this.#bytes[before + info.length] = counter;
      this.#hmac(before + info.length + 1);
      const end = Math.min(length, at + DIGEST);
      for (let i = 0; at < end; i++, at++) out[at] = this.#bytes[i] as number; // 20 bytes
    }
    this.#wipe();
    return out;
  };

  #put(input: Uint8Array, at: number): void {
    for (let i = 0; i < input.length; i++) this.#bytes[at + i] = input[i] as number; // checked
  }

  /** Uses the first `length` bytes of the block as the HMAC key. */
  #takeKey(length: number): void {
    const words = this.#words;
    for (let i = length; i < BLOCK; i++) this.#bytes[i] = 0;
    for (let i = 0; i < BLOCK_WORDS; i++) words[i]! ^= INNER; // 16 words
    this.#run(INITIAL, this.#inner);
    for (let i = 0; i < BLOCK_WORDS; i++) words[i]! ^= INNER ^ OUTER; // 16 words
    this.#run(INITIAL, this.#outer);
  }

  /** Replaces the start of the block by the HMAC of its first `length` bytes. */
  #hmac(length: number): void {
    this.#finish(this.#inner, length);
    this.#finish(this.#outer, DIGEST);
  }

  /** Finishes a hash whose state after one block is `from`, and writes the digest to the block. */
  #finish(from: Uint32Array, length: number): void {
    const words = this.#words;
    for (let i = length; i < BLOCK; i++) this.#bytes[i] = 0;
    this.#bytes[length] = END_BIT;
    words[BLOCK_WORDS - 1] = swapBytes((BLOCK + length) * 8);
    this.#run(from, words);
    for (let i = 0; i < STATE_WORDS; i++) words[i] = swapBytes(words[i]!); // 16 words
  }

  #run(from: Uint32Array, to: Uint32Array): void {
    const { state } = this.#compression;
    for (let i = 0; i < STATE_WORDS; i++) state[i] = from[i]!; // 5 of both
    this.#compression.compress();
    for (let i = 0; i < STATE_WORDS; i++) to[i] = state[i]!; // 5 of 5 or more
  }

  /** Clears secrets from the shared memory. */
  #wipe(): void {
    for (let i = 0; i < BLOCK_WORDS; i++) this.#words[i] = 0;
    for (let i = 0; i < STATE_WORDS; i++) {
      this.#compression.state[i] = this.#inner[i] = this.#outer[i] = 0;
    }
  }
}

/** Selects the implementation of HKDF-SHA1 of this process; see `chooseBackend`. */
export const chooseHkdfSha1 = (setting = process.env['WEIR_CRYPTO']): HkdfSha1 =>
  chooseBackend<HkdfSha1>(
    { baseline: baselineHkdfSha1, open: () => new OpensslHkdfSha1().derive, agrees },
    setting,
  );

const agrees = (candidate: HkdfSha1): boolean =>
  [16, 20, 32].every((length) => {
    const bytes = Uint8Array.from({ length: 64 }, (_, index) => index * 7 + length);
    const inputs = [bytes.subarray(0, length), bytes.subarray(32), bytes.subarray(9, 18)] as const;
    return Buffer.compare(candidate(...inputs, length), baselineHkdfSha1(...inputs, length)) === 0;
  });

/** Selected for the first derivation, so that a process without derivations does not load it. */
let chosen: HkdfSha1 | undefined;

/** Derives a key by HKDF with SHA-1, with the implementation that this process uses. */
export const hkdfSha1: HkdfSha1 = (key, salt, info, length) =>
  (chosen ??= chooseHkdfSha1())(key, salt, info, length);
