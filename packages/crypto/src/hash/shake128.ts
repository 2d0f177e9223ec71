import { shake128 } from '@noble/hashes/sha3.js';
import { EvpShake128 } from '@weir/io/openssl';
import { chooseBackend } from '../choose-backend.ts';

/** The rate of SHAKE128 in bytes: the output of one permutation (FIPS 202 §6.2). */
export const SHAKE128_RATE = 168;
/** Maximum length of a seed in bytes. */
export const SHAKE128_SEED = 64;

/** Computes the first `SHAKE128_RATE` bytes of the output for a seed. */
type FirstBlock = (seed: Uint8Array) => Uint8Array;

/** SHAKE128 in JavaScript, 7 µs per block; OpenSSL takes 0.6 µs. */
export const baselineFirstBlock: FirstBlock = (seed) => shake128(seed, { dkLen: SHAKE128_RATE });

/** Opens SHAKE128 of OpenSSL. @throws {NativeError} on machines where OpenSSL cannot be called. */
export function openOpensslFirstBlock(): FirstBlock {
  const evp = new EvpShake128(SHAKE128_SEED, SHAKE128_RATE);
  return (seed) => evp.digest(seed, SHAKE128_RATE);
}

/** Selects the implementation of SHAKE128 of this process; see `chooseBackend`. */
export const chooseFirstBlock = (setting = process.env['WEIR_CRYPTO']): FirstBlock =>
  chooseBackend<FirstBlock>(
    { baseline: baselineFirstBlock, open: openOpensslFirstBlock, agrees },
    setting,
  );

const agrees = (candidate: FirstBlock): boolean =>
  [0, 16, SHAKE128_SEED].every((length) => {
    const seed = Uint8Array.from({ length }, (_, index) => index * 7 + 1);
    return Buffer.compare(candidate(seed), baselineFirstBlock(seed)) === 0;
  });

/** Selected for the first stream, so that a process without streams does not load it. */
let chosen: FirstBlock | undefined;

/**
 * The output of SHAKE128 (FIPS 202 §6.2) in order, block by block.
 *
 * The first block is computed in a shared context. Only streams that need more output create their own state; others
 * hold only their seed.
 */
export class Shake128Stream {
  readonly #seed: Uint8Array;
  #further: ReturnType<typeof shake128.create> | undefined;
  #begun = false;

  /** @param seed at most `SHAKE128_SEED` bytes, which must not be modified afterwards. */
  constructor(seed: Uint8Array) {
    if (seed.length > SHAKE128_SEED) throw new RangeError('the seed of a stream is too long');
    this.#seed = seed;
  }

  /** Returns the next `SHAKE128_RATE` bytes. */
  next(): Uint8Array {
    if (!this.#begun) {
      this.#begun = true;
      return (chosen ??= chooseFirstBlock())(this.#seed);
    }
    if (!this.#further) {
      this.#further = shake128.create({}).update(this.#seed);
      this.#further.xof(SHAKE128_RATE);
    }
    return this.#further.xof(SHAKE128_RATE);
  }
}
