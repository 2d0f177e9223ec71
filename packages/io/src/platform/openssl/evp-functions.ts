import { exportsOfSelf, NativeError } from '../native.ts';

/** AEAD ciphers; OpenSSL ignores the case of their names (EVP_CIPHER_fetch(3)). */
export type EvpAeadName = 'aes-128-gcm' | 'aes-256-gcm' | 'chacha20-poly1305';

/** Ciphers that make masks of header protection (RFC 9001 §5.4). */
export type EvpMaskName = 'aes-128-ecb' | 'aes-256-ecb' | 'chacha20';

export type EvpCipherName = EvpAeadName | EvpMaskName;

export const EVP_NONCE_LENGTH = 12;
export const EVP_TAG_LENGTH = 16;

/** Bytes of a key, by cipher. */
const EVP_KEY_LENGTHS: Readonly<Record<EvpCipherName, number>> = {
  'aes-128-gcm': 16,
  'aes-256-gcm': 32,
  'chacha20-poly1305': 32,
  'aes-128-ecb': 16,
  'aes-256-ecb': 32,
  chacha20: 32,
};

/** `EVP_CTRL_AEAD_GET_TAG` and `EVP_CTRL_AEAD_SET_TAG` of openssl/evp.h. */
export const GET_TAG = 0x10;
export const SET_TAG = 0x11;

type Update = (context: number, out: number, written: number, input: number, n: number) => number;
/** An update function with arguments in memory of JavaScript. */
type UpdateBytes = (
  context: number,
  out: Uint8Array | null,
  written: number,
  input: Uint8Array,
  length: number,
) => number;

/** The functions of one direction. */
export interface EvpDirection {
  readonly init: (
    context: number,
    cipher: number,
    engine: number,
    key: number,
    nonce: number,
  ) => number;
  readonly update: Update;
  readonly updateBytes: UpdateBytes;
  readonly final: (context: number, out: number, written: number) => number;
}

/**
 * Ciphers of the OpenSSL inside Node. Addresses are plain numbers, the cheapest arguments of a native
 * call; 0 is the null pointer.
 */
export class EvpFunctions {
  readonly encrypt: EvpDirection;
  readonly decrypt: EvpDirection;
  readonly newContext: () => number;
  readonly freeContext: (context: number) => void;
  readonly control: (context: number, command: number, length: number, data: number) => number;
  readonly setPadding: (context: number, pad: number) => number;
  /** Frees contexts that were not disposed of. */
  readonly forgotten: FinalizationRegistry<number>;
  readonly #fetchCipher: (library: null, name: string, properties: null) => number;
  readonly #ciphers = new Map<EvpCipherName, number>();

  /**
   * Binds the functions.
   * @throws {NativeError} if the functions are not available.
   */
  constructor() {
    const bind = exportsOfSelf();
    const address = 'uintptr_t';
    const direction = (name: string): EvpDirection => ({
      init: bind('int', `EVP_${name}Init_ex`, address, address, address, address, address),
      update: bind('int', `EVP_${name}Update`, address, address, address, address, 'int'),
      updateBytes: bind('int', `EVP_${name}Update`, address, 'void *', address, 'void *', 'int'),
      final: bind('int', `EVP_${name}Final_ex`, address, address, address),
    });
    this.encrypt = direction('Encrypt');
    this.decrypt = direction('Decrypt');
    this.newContext = bind(address, 'EVP_CIPHER_CTX_new');
    const freeContext: (context: number) => void = bind('void', 'EVP_CIPHER_CTX_free', address);
    this.freeContext = freeContext;
    this.control = bind('int', 'EVP_CIPHER_CTX_ctrl', address, 'int', 'int', address);
    this.setPadding = bind('int', 'EVP_CIPHER_CTX_set_padding', address, 'int');
    this.#fetchCipher = bind(address, 'EVP_CIPHER_fetch', 'void *', 'const char *', 'const char *');
    this.forgotten = new FinalizationRegistry((context) => freeContext(context));
  }

  /** Returns the description of a cipher, fetched once: a fetch for each context costs a lock. */
  cipher(name: EvpCipherName): number {
    let cipher = this.#ciphers.get(name);
    if (cipher === undefined) {
      cipher = this.#fetchCipher(null, name, null);
      if (cipher === 0) throw new NativeError(`OpenSSL has no ${name}`);
      this.#ciphers.set(name, cipher);
    }
    return cipher;
  }
}

/** Checks the result of a function of EVP, which is 1 on success. @throws {NativeError} for any other result. */
export function must(result: number): void {
  if (result !== 1) throw new NativeError('OpenSSL reported a failure');
}

/** Checks the length of a key: OpenSSL reads as many bytes as the cipher needs. @throws {RangeError} */
export function checkKeyLength(name: EvpCipherName, key: Uint8Array): void {
  if (key.length !== EVP_KEY_LENGTHS[name]) throw new RangeError('the key has another length');
}
