import { addressOf, NativeError, openSelf } from './native.ts';
import { nativeMemory, type NativeMemory } from './native-memory.ts';

/**
 * SHAKE128 by the OpenSSL inside Node. One context serves all inputs, because each output is begun
 * and finished in one call.
 */
export class EvpShake128 {
  readonly #context: number;
  readonly #memory: NativeMemory;
  readonly #longestInput: number;
  readonly #init: (context: number, digest: number, parameters: number) => number;
  readonly #update: (context: number, input: number, length: number) => number;
  readonly #finalXof: (context: number, out: number, length: number) => number;

  /**
   * @param longestInput and `longestOutput` in bytes.
   * @throws {NativeError} where the functions are not available.
   */
  constructor(longestInput: number, longestOutput: number) {
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
      this.#finalXof = library.func(`int EVP_DigestFinalXOF(${address}, ${address}, size_t)`);
      digest = fetch(null, 'SHAKE128', null);
      this.#context = create();
    } catch (error) {
      throw new NativeError('this Node does not export digests', { cause: error });
    }
    if (digest === 0 || this.#context === 0) throw new NativeError('OpenSSL has no SHAKE128');
    this.#longestInput = longestInput;
    this.#memory = nativeMemory(longestInput + longestOutput, ({ buffer }) => addressOf(buffer));
    this.#must(this.#init(this.#context, digest, 0));
  }

  /** The first `length` bytes of the output, in memory of their own. */
  digest(input: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
    const { bytes, at } = this.#memory;
    const start = this.#longestInput;
    if (input.length > start || !(length >= 0 && start + length <= bytes.length)) {
      throw new RangeError('the input or the output of SHAKE128 is too long');
    }
    bytes.set(input);
    this.#must(this.#init(this.#context, 0, 0));
    this.#must(this.#update(this.#context, at, input.length));
    this.#must(this.#finalXof(this.#context, at + start, length));
    return new Uint8Array(bytes.buffer.slice(start, start + length));
  }

  /** Every function of EVP returns 1 on success. */
  #must(result: number): void {
    if (result !== 1) throw new NativeError('OpenSSL reported a failure');
  }
}
