import { addressOf, exportsOfSelf, NativeError } from '../native.ts';
import { nativeMemory, type NativeMemory } from '../native-memory.ts';

/**
 * A digest of the OpenSSL inside Node. One context serves all inputs, because each is hashed in one
 * synchronous call.
 */
export class EvpDigest {
  readonly context: number;
  readonly #digest: number;
  readonly #init: (context: number, digest: number, parameters: number) => number;
  readonly #update: (context: number, input: number, length: number) => number;

  /**
   * | Fetches a digest.
   * @param name OpenSSL's name of the digest.
   * @throws {NativeError} if the functions or the digest are not available.
   */
  constructor(name: string) {
    const bind = exportsOfSelf();
    const address = 'uintptr_t';
    const fetch: (library: null, name: string, properties: null) => number = bind(
      address,
      'EVP_MD_fetch',
      'void *',
      'const char *',
      'const char *',
    );
    const create: () => number = bind(address, 'EVP_MD_CTX_new');
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
export const digestMemory = (size: number): NativeMemory =>
  nativeMemory(size, ({ buffer }) => addressOf(buffer));
