import { NativeError, openSelf, type Pointer } from './native.ts';

/** OpenSSL's names of the ciphers that are used through EVP. */
export type EvpCipherName = 'AES-128-GCM' | 'AES-256-GCM' | 'ChaCha20-Poly1305';

export const EVP_NONCE_LENGTH = 12;
export const EVP_TAG_LENGTH = 16;

/** Bytes of a key. */
export const EVP_KEY_LENGTHS: Readonly<Record<EvpCipherName, number>> = {
  'AES-128-GCM': 16,
  'AES-256-GCM': 32,
  'ChaCha20-Poly1305': 32,
};

/** `EVP_CTRL_AEAD_GET_TAG` and `EVP_CTRL_AEAD_SET_TAG` of openssl/evp.h. */
export const GET_TAG = 0x10;
export const SET_TAG = 0x11;

/** OpenSSL counts in `int`. */
const LONGEST = 0x7fff_ffff;

type Init = (
  context: Pointer,
  cipher: Pointer,
  engine: null,
  key: Uint8Array | null,
  nonce: Uint8Array | null,
) => number;
type Update = (
  context: Pointer,
  out: Uint8Array | null,
  outLength: Uint8Array,
  input: Uint8Array,
  length: number,
) => number;
type Final = (context: Pointer, out: Uint8Array, outLength: Uint8Array) => number;

/** The functions of one direction of OpenSSL's EVP, and what their contexts share. */
interface EvpFunctions {
  readonly newContext: () => Pointer;
  readonly freeContext: (context: Pointer) => void;
  readonly fetchCipher: (library: null, name: string, properties: null) => Pointer;
  readonly control: (context: Pointer, command: number, length: number, data: Uint8Array) => number;
  readonly encryptInit: Init;
  readonly encryptUpdate: Update;
  readonly encryptFinal: Final;
  readonly decryptInit: Init;
  readonly decryptUpdate: Update;
  readonly decryptFinal: Final;
}

/**
 * AEAD ciphers of the OpenSSL inside Node, called without the objects that node:crypto makes for
 * each message: three to five times as fast (docs/performance.md).
 *
 * Lengths are checked here before any call, and a freed context is never used again, so that no
 * input can reach memory of others.
 */
export class Evp {
  readonly functions: EvpFunctions;
  readonly #ciphers = new Map<EvpCipherName, Pointer>();
  /** Only for contexts that were not disposed of. */
  readonly forgotten: FinalizationRegistry<Pointer>;

  /** @throws {NativeError} where the functions are not available. */
  constructor() {
    const library = openSelf();
    const bind = (definition: string) => library.func(definition);
    try {
      const update = '(void *context, void *out, void *outl, const void *in, int inl)';
      const init =
        '(void *context, void *cipher, void *engine, const void *key, const void *nonce)';
      const final = '(void *context, void *out, void *outl)';
      this.functions = {
        newContext: bind('void *EVP_CIPHER_CTX_new()'),
        freeContext: bind('void EVP_CIPHER_CTX_free(void *context)'),
        fetchCipher: bind('void *EVP_CIPHER_fetch(void *, const char *, const char *)'),
        control: bind('int EVP_CIPHER_CTX_ctrl(void *context, int type, int arg, void *ptr)'),
        encryptInit: bind(`int EVP_EncryptInit_ex${init}`),
        encryptUpdate: bind(`int EVP_EncryptUpdate${update}`),
        encryptFinal: bind(`int EVP_EncryptFinal_ex${final}`),
        decryptInit: bind(`int EVP_DecryptInit_ex${init}`),
        decryptUpdate: bind(`int EVP_DecryptUpdate${update}`),
        decryptFinal: bind(`int EVP_DecryptFinal_ex${final}`),
      };
    } catch (error) {
      throw new NativeError('this Node does not export EVP', { cause: error });
    }
    const { freeContext } = this.functions;
    this.forgotten = new FinalizationRegistry((context) => freeContext(context));
  }

  /** A cipher's description, fetched once: a fetch for each context costs a lock. */
  cipher(name: EvpCipherName): Pointer {
    let cipher = this.#ciphers.get(name);
    if (cipher === undefined) {
      cipher = this.functions.fetchCipher(null, name, null);
      if (cipher === null) throw new NativeError(`OpenSSL has no ${name}`);
      this.#ciphers.set(name, cipher);
    }
    return cipher;
  }
}

/** One `EVP_CIPHER_CTX`, owned by one object and freed once. */
class EvpContext implements Disposable {
  protected readonly functions: EvpFunctions;
  readonly #evp: Evp;
  readonly #keyLength: number;
  #context: Pointer;
  /** The key from the next message on. */
  #nextKey: Uint8Array | null = null;

  constructor(evp: Evp, keyLength: number) {
    this.#evp = evp;
    this.functions = evp.functions;
    this.#keyLength = keyLength;
    this.#context = this.functions.newContext();
    if (this.#context === null) throw new NativeError('OpenSSL is out of memory');
    evp.forgotten.register(this, this.#context, this);
  }

  /** Puts another key in place, from the next message on. The bytes are copied. */
  rekey(key: Uint8Array): void {
    this.live();
    if (key.length !== this.#keyLength) throw new RangeError('the key has another length');
    this.#nextKey = Uint8Array.from(key);
  }

  [Symbol.dispose](): void {
    const context = this.#context;
    if (context === null) return;
    this.#context = null;
    this.#evp.forgotten.unregister(this);
    this.functions.freeContext(context);
  }

  /** The context, for calls made before anything else can run. */
  protected live(): Pointer {
    if (this.#context === null) throw new NativeError('a cipher was used after it was closed');
    return this.#context;
  }

  protected takeKey(): Uint8Array | null {
    const key = this.#nextKey;
    this.#nextKey = null;
    return key;
  }

  /** Every function of EVP returns 1 on success. */
  protected must(result: number): void {
    if (result !== 1) throw new NativeError('OpenSSL reported a failure');
  }
}

const NOTHING = new Uint8Array(0);

/** OpenSSL writes the length of each output here; no call reads it. */
const WRITTEN = Buffer.alloc(8);
/** The tag of the message at hand: copied before the next call, whatever the cipher. */
const TAG = Buffer.alloc(EVP_TAG_LENGTH);

/** Seals messages under one key. */
export class EvpSealer extends EvpContext {
  /** @throws {RangeError} for a key of another length than the cipher's: OpenSSL reads blindly. */
  constructor(evp: Evp, name: EvpCipherName, key: Uint8Array) {
    if (key.length !== EVP_KEY_LENGTHS[name]) throw new RangeError('the key has another length');
    super(evp, key.length);
    this.must(this.functions.encryptInit(this.live(), evp.cipher(name), null, key, null));
  }

  /** Writes the ciphertext of `plain` and its tag to the start of `out`. */
  seal(
    nonce: Uint8Array,
    plain: Uint8Array,
    out: Uint8Array,
    associated: Uint8Array = NOTHING,
  ): void {
    const context = this.live();
    const { length } = plain;
    if (nonce.length !== EVP_NONCE_LENGTH) throw new RangeError('a nonce has 12 bytes');
    if (length > LONGEST || associated.length > LONGEST) throw new RangeError('too long to seal');
    if (out.length < length + EVP_TAG_LENGTH) throw new RangeError('no room for the sealed bytes');
    const { encryptInit, encryptUpdate, encryptFinal, control } = this.functions;
    this.must(encryptInit(context, null, null, this.takeKey(), nonce));
    if (associated.length > 0) {
      this.must(encryptUpdate(context, null, WRITTEN, associated, associated.length));
    }
    if (length > 0) this.must(encryptUpdate(context, out, WRITTEN, plain, length));
    this.must(encryptFinal(context, TAG, WRITTEN));
    this.must(control(context, GET_TAG, EVP_TAG_LENGTH, TAG));
    out.set(TAG, length);
  }
}

/** Opens messages under one key. */
export class EvpOpener extends EvpContext {
  /** @throws {RangeError} for a key of another length than the cipher's: OpenSSL reads blindly. */
  constructor(evp: Evp, name: EvpCipherName, key: Uint8Array) {
    if (key.length !== EVP_KEY_LENGTHS[name]) throw new RangeError('the key has another length');
    super(evp, key.length);
    this.must(this.functions.decryptInit(this.live(), evp.cipher(name), null, key, null));
  }

  /**
   * Writes the plaintext of `sealed`, 16 bytes shorter, to the start of `out`. False when the tag
   * does not fit; then that part of `out` is zero.
   */
  open(
    nonce: Uint8Array,
    sealed: Uint8Array,
    out: Uint8Array,
    associated: Uint8Array = NOTHING,
  ): boolean {
    const context = this.live();
    const length = sealed.length - EVP_TAG_LENGTH;
    if (nonce.length !== EVP_NONCE_LENGTH) throw new RangeError('a nonce has 12 bytes');
    if (length > LONGEST || associated.length > LONGEST) throw new RangeError('too long to open');
    if (length < 0) return false;
    if (out.length < length) throw new RangeError('no room for the opened bytes');
    const { decryptInit, decryptUpdate, decryptFinal, control } = this.functions;
    for (let i = 0; i < EVP_TAG_LENGTH; i++) TAG[i] = sealed[length + i] as number; // within
    this.must(decryptInit(context, null, null, this.takeKey(), nonce));
    this.must(control(context, SET_TAG, EVP_TAG_LENGTH, TAG));
    if (associated.length > 0) {
      this.must(decryptUpdate(context, null, WRITTEN, associated, associated.length));
    }
    if (length > 0) this.must(decryptUpdate(context, out, WRITTEN, sealed, length));
    if (decryptFinal(context, TAG, WRITTEN) === 1) return true;
    out.fill(0, 0, length);
    return false;
  }
}
