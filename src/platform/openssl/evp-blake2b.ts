import { digestMemory, EvpDigest } from './evp-digest.ts';
import { exportsOfSelf } from '../native.ts';
import { putWord64, type NativeMemory } from '../native-memory.ts';

const DIGEST_LENGTH = 32;
/**
 * OSSL_PARAM of openssl/core.h: key, type, data, size, returned size; the last one is all zeros.
 */
const PARAM_WORDS = 10;
const OSSL_PARAM_UNSIGNED_INTEGER = 2;

/**
 * BLAKE2b-256 by the OpenSSL inside Node, in three native calls. node:crypto offers BLAKE2b only with 512 bits, which
 * is a different hash and not a longer one.
 */
export class EvpBlake2b {
  readonly #evp: EvpDigest;
  readonly #parameters: NativeMemory;
  /** Targets of pointers in the parameters, which must stay allocated. */
  readonly #name: NativeMemory;
  readonly #size: NativeMemory;
  readonly #lengthOut: NativeMemory;
  readonly #final: (context: number, out: number, outLength: number) => number;

  /**
   * Binds the functions.
   * @throws {NativeError} if the functions are not available.
   */
  constructor() {
    this.#evp = new EvpDigest('BLAKE2B-512');
    const address = 'uintptr_t';
    this.#final = exportsOfSelf()('int', 'EVP_DigestFinal_ex', address, address, address);
    this.#name = digestMemory(8);
    this.#name.bytes.write('size\0');
    this.#size = digestMemory(8);
    putWord64(this.#size.words, 0, DIGEST_LENGTH);
    this.#lengthOut = digestMemory(8);
    this.#parameters = digestMemory(2 * PARAM_WORDS * 4);
    const { words } = this.#parameters;
    putWord64(words, 0, this.#name.at);
    words[2] = OSSL_PARAM_UNSIGNED_INTEGER;
    putWord64(words, 4, this.#size.at);
    putWord64(words, 6, 8);
    this.#evp.choose(this.#parameters.at);
  }

  /** Allocates memory that `digest` accepts. */
  memory(size: number): NativeMemory {
    return digestMemory(size);
  }

  /** Writes the digest of the first `length` bytes of `input` to the start of `out`. */
  digest(input: NativeMemory, length: number, out: NativeMemory): void {
    if (!(length >= 0 && length <= input.bytes.length) || out.bytes.length < 2 * DIGEST_LENGTH) {
      throw new RangeError('the input or the digest is not within its memory');
    }
    const evp = this.#evp;
    evp.take(input.at, length, this.#parameters.at);
    evp.must(this.#final(evp.context, out.at, this.#lengthOut.at));
  }
}
