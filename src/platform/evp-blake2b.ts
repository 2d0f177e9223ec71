import { addressOf, NativeError, openSelf } from './native.ts';
import { nativeMemory, putWord64, type NativeMemory } from './native-memory.ts';

const DIGEST_LENGTH = 32;
/** OSSL_PARAM of openssl/core.h: key, type, data, size, size returned; the last one is all zeros. */
const PARAM_WORDS = 10;
const OSSL_PARAM_UNSIGNED_INTEGER = 2;

/**
 * BLAKE2b-256 by the OpenSSL inside Node: three native calls. node:crypto offers BLAKE2b only with
 * 512 bits, which is another hash and not a longer one.
 *
 * One context serves all inputs, because a digest is begun and finished in one call.
 */
export class EvpBlake2b {
  readonly #context: number;
  readonly #parameters: NativeMemory;
  /** What the parameters point to: it must live as long as they do. */
  readonly #name: NativeMemory;
  readonly #size: NativeMemory;
  readonly #lengthOut: NativeMemory;
  readonly #init: (context: number, digest: number, parameters: number) => number;
  readonly #update: (context: number, input: number, length: number) => number;
  readonly #final: (context: number, out: number, outLength: number) => number;

  /** @throws {NativeError} where the functions are not available. */
  constructor() {
    const library = openSelf();
    const address = 'uintptr_t';
    let digest: number;
    try {
      const fetch: (library: null, name: string, properties: null) => number = library.func(
        `${address} EVP_MD_fetch(void *, const char *, const char *)`,
      );
      const create: () => number = library.func(`${address} EVP_MD_CTX_new()`);
      this.#init = library.func(`int EVP_DigestInit_ex2(${address}, ${address}, ${address})`);
      this.#update = library.func(`int EVP_DigestUpdate(${address}, ${address}, size_t)`);
      this.#final = library.func(`int EVP_DigestFinal_ex(${address}, ${address}, ${address})`);
      digest = fetch(null, 'BLAKE2B-512', null);
      this.#context = create();
    } catch (error) {
      throw new NativeError('this Node does not export digests', { cause: error });
    }
    if (digest === 0 || this.#context === 0) throw new NativeError('OpenSSL has no BLAKE2b');
    const memory = (size: number) => nativeMemory(size, ({ buffer }) => addressOf(buffer));
    this.#name = memory(8);
    this.#name.bytes.write('size\0');
    this.#size = memory(8);
    putWord64(this.#size.words, 0, DIGEST_LENGTH);
    this.#lengthOut = memory(8);
    this.#parameters = memory(2 * PARAM_WORDS * 4);
    const { words } = this.#parameters;
    putWord64(words, 0, this.#name.at);
    words[2] = OSSL_PARAM_UNSIGNED_INTEGER;
    putWord64(words, 4, this.#size.at);
    putWord64(words, 6, 8);
    this.#must(this.#init(this.#context, digest, this.#parameters.at));
  }

  /** Memory that `digest` takes. */
  memory(size: number): NativeMemory {
    return nativeMemory(size, ({ buffer }) => addressOf(buffer));
  }

  /** Writes the digest of all of `input`, from its `length` first bytes, to the start of `out`. */
  digest(input: NativeMemory, length: number, out: NativeMemory): void {
    if (!(length >= 0 && length <= input.bytes.length) || out.bytes.length < 2 * DIGEST_LENGTH) {
      throw new RangeError('the input or the digest is not within its memory');
    }
    this.#must(this.#init(this.#context, 0, this.#parameters.at));
    this.#must(this.#update(this.#context, input.at, length));
    this.#must(this.#final(this.#context, out.at, this.#lengthOut.at));
  }

  /** Every function of EVP returns 1 on success. */
  #must(result: number): void {
    if (result !== 1) throw new NativeError('OpenSSL reported a failure');
  }
}
