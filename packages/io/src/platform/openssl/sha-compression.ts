import { addressOf, exportsOfSelf } from '../native.ts';
import { nativeMemory, type NativeMemory } from '../native-memory.ts';

const BLOCK_WORDS = 16;

/**
 * The compression function of a hash of the OpenSSL inside Node, which uses the processor's SHA
 * instructions: one native call, 60 ns for SHA-256 where a hash object of node:crypto takes 2 µs.
 */
class NativeCompression {
  /** The hash value of FIPS 180-4 §5.3, in words in the machine's byte order. */
  readonly state: Uint32Array;
  /** A block of 64 bytes, as 16 words in the machine's byte order. */
  readonly block: Uint32Array;
  readonly #context: NativeMemory;
  readonly #input: NativeMemory;
  readonly #transform: (context: number, block: number) => void;

  /**
   * @param words number of words of the state, and of the context with its length, block and counts
   *   (openssl/sha.h).
   * @throws {NativeError} if the function is not available.
   */
  constructor(name: string, words: { readonly state: number; readonly context: number }) {
    this.#transform = exportsOfSelf()('void', name, 'uintptr_t', 'uintptr_t');
    const memory = (size: number) => nativeMemory(4 * size, ({ buffer }) => addressOf(buffer));
    this.#context = memory(words.context);
    this.#input = memory(BLOCK_WORDS);
    this.state = this.#context.words.subarray(0, words.state);
    this.block = this.#input.words.subarray(0, BLOCK_WORDS);
  }

  /** Compresses `block` into `state`. */
  compress(): void {
    this.#transform(this.#context.at, this.#input.at);
  }
}

export class NativeSha1 extends NativeCompression {
  /**
   * Binds the function.
   * @throws {NativeError} if the function is not available.
   */
  constructor() {
    super('SHA1_Transform', { state: 5, context: 5 + 2 + BLOCK_WORDS + 1 });
  }
}

export class NativeSha256 extends NativeCompression {
  /**
   * Binds the function.
   * @throws {NativeError} if the function is not available.
   */
  constructor() {
    super('SHA256_Transform', { state: 8, context: 8 + 2 + BLOCK_WORDS + 2 });
  }
}
