import { addressOf, exportsOfSelf, NativeError } from '../native.ts';
import { type NativeMemory, nativeMemory, putWord64 } from '../native-memory.ts';

/**
 * A digest of the OpenSSL inside Node. One context serves all inputs, because each is hashed in one
 * synchronous call.
 */
class EvpDigest {
  readonly context: number;
  readonly #digest: number;
  readonly #init: (context: number, digest: number, parameters: number) => number;
  readonly #update: (context: number, input: number, length: number) => number;

  /**
   * Fetches a digest.
   *
   * @param name OpenSSL's name of the digest.
   * @throws {NativeError} if the functions or the digest are not available.
   */
  constructor(name: string) {
    const bind = exportsOfSelf();
    const address = 'uintptr_t';
    const fetch = bind(address, 'EVP_MD_fetch', 'void *', 'const char *', 'const char *');
    const create = bind(address, 'EVP_MD_CTX_new');
    this.#init = bind('int', 'EVP_DigestInit_ex2', address, address, address);
    this.#update = bind('int', 'EVP_DigestUpdate', address, address, 'size_t');
    this.#digest = fetch(null, name, null);
    this.context = create();
    if (this.#digest === 0 || this.context === 0) throw new NativeError(`OpenSSL has no ${name}`);
  }

  /** Sets the digest. @param parameters the address of OSSL_PARAMs; 0 for none. */
  choose(parameters: number): void {
    this.must(this.#init(this.context, this.#digest, parameters));
  }

  /** Hashes the whole input. */
  take(input: number, length: number, parameters: number): void {
    this.must(this.#init(this.context, 0, parameters));
    this.must(this.#update(this.context, input, length));
  }

  /** Checks the result of a function of EVP, which is 1 on success. */
  must(result: number): void {
    if (result !== 1) throw new NativeError('OpenSSL reported a failure');
  }
}

/** Allocates memory for input and output of digests. */
const digestMemory = (size: number): NativeMemory =>
  nativeMemory(size, ({ buffer }) => addressOf(buffer));

const BLAKE2B_LENGTH = 32;
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

  /** Binds the functions. @throws {NativeError} if the functions are not available. */
  constructor() {
    this.#evp = new EvpDigest('BLAKE2B-512');
    const address = 'uintptr_t';
    this.#final = exportsOfSelf()('int', 'EVP_DigestFinal_ex', address, address, address);
    this.#name = digestMemory(8);
    this.#name.bytes.write('size\0');
    this.#size = digestMemory(8);
    putWord64(this.#size.words, 0, BLAKE2B_LENGTH);
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
    if (!(length >= 0 && length <= input.bytes.length) || out.bytes.length < 2 * BLAKE2B_LENGTH) {
      throw new RangeError('the input or the digest is not within its memory');
    }
    const evp = this.#evp;
    evp.take(input.at, length, this.#parameters.at);
    evp.must(this.#final(evp.context, out.at, this.#lengthOut.at));
  }
}

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
  /** Binds the function. @throws {NativeError} if the function is not available. */
  constructor() {
    super('SHA1_Transform', { state: 5, context: 5 + 2 + BLOCK_WORDS + 1 });
  }
}

export class NativeSha256 extends NativeCompression {
  /** Binds the function. @throws {NativeError} if the function is not available. */
  constructor() {
    super('SHA256_Transform', { state: 8, context: 8 + 2 + BLOCK_WORDS + 2 });
  }
}
