import { addressOf, exportsOfSelf } from './native.ts';
import { nativeMemory, type NativeMemory } from './native-memory.ts';

/** SHA_CTX of openssl/sha.h: five words of state, 2 of length, a block of 16, a count. */
const CONTEXT_LENGTH = 4 * (5 + 2 + 16 + 1);
const STATE_WORDS = 5;
const BLOCK_WORDS = 16;

/** The compression function of SHA-1 by the OpenSSL inside Node, as `NativeSha256` has it. */
export class NativeSha1 {
  /** The five words of FIPS 180-4 §5.3.1, in the order of the machine. */
  readonly state: Uint32Array;
  /** A block of 64 bytes, as 16 words of the machine. */
  readonly block: Uint32Array;
  readonly #context: NativeMemory;
  readonly #input: NativeMemory;
  readonly #transform: (context: number, block: number) => void;

  /** @throws {NativeError} where the function is not available. */
  constructor() {
    this.#transform = exportsOfSelf()('void', 'SHA1_Transform', 'uintptr_t', 'uintptr_t');
    const memory = (size: number) => nativeMemory(size, ({ buffer }) => addressOf(buffer));
    this.#context = memory(CONTEXT_LENGTH);
    this.#input = memory(4 * BLOCK_WORDS);
    this.state = this.#context.words.subarray(0, STATE_WORDS);
    this.block = this.#input.words.subarray(0, BLOCK_WORDS);
  }

  /** Takes `block` into `state`. */
  compress(): void {
    this.#transform(this.#context.at, this.#input.at);
  }
}
