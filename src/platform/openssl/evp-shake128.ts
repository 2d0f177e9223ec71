import { digestMemory, EvpDigest } from './evp-digest.ts';
import { exportsOfSelf } from '../native.ts';
import type { NativeMemory } from '../native-memory.ts';

/** SHAKE128 by the OpenSSL inside Node. */
export class EvpShake128 {
  readonly #evp: EvpDigest;
  readonly #memory: NativeMemory;
  readonly #longestInput: number;
  readonly #finalXof: (context: number, out: number, length: number) => number;

  /**
   * @param longestInput the longest input in bytes.
   * @param longestOutput the longest output in bytes.
   * @throws {NativeError} if the functions are not available.
   */
  constructor(longestInput: number, longestOutput: number) {
    this.#evp = new EvpDigest('SHAKE128');
    const address = 'uintptr_t';
    this.#finalXof = exportsOfSelf()('int', 'EVP_DigestFinalXOF', address, address, 'size_t');
    this.#longestInput = longestInput;
    this.#memory = digestMemory(longestInput + longestOutput);
    this.#evp.choose(0);
  }

  /** Returns the first `length` bytes of the output, in new memory. */
  digest(input: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
    const { bytes, at } = this.#memory;
    const start = this.#longestInput;
    if (input.length > start || !(length >= 0 && start + length <= bytes.length)) {
      throw new RangeError('the input or the output of SHAKE128 is too long');
    }
    bytes.set(input);
    const evp = this.#evp;
    evp.take(at, input.length, 0);
    evp.must(this.#finalXof(evp.context, at + start, length));
    return new Uint8Array(bytes.buffer.slice(start, start + length));
  }
}
