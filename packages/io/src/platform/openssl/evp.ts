import { addressOf, exportsOfSelf, NativeError } from '../native.ts';
import { type NativeMemory, nativeMemory } from '../native-memory.ts';

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

const ADDRESS = 'uintptr_t';

/** Binds the functions of one direction; `updateBytes` has its arguments in memory of JavaScript. */
const direction = (bind: ReturnType<typeof exportsOfSelf>, name: 'Encrypt' | 'Decrypt') => ({
  init: bind('int', `EVP_${name}Init_ex`, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS),
  update: bind('int', `EVP_${name}Update`, ADDRESS, ADDRESS, ADDRESS, ADDRESS, 'int'),
  updateBytes: bind('int', `EVP_${name}Update`, ADDRESS, 'void *', ADDRESS, 'void *', 'int'),
  final: bind('int', `EVP_${name}Final_ex`, ADDRESS, ADDRESS, ADDRESS),
});

/** The functions of one direction. */
export type EvpDirection = Readonly<ReturnType<typeof direction>>;

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

  /** Binds the functions. @throws {NativeError} if the functions are not available. */
  constructor() {
    const bind = exportsOfSelf();
    this.encrypt = direction(bind, 'Encrypt');
    this.decrypt = direction(bind, 'Decrypt');
    this.newContext = bind(ADDRESS, 'EVP_CIPHER_CTX_new');
    const freeContext = bind('void', 'EVP_CIPHER_CTX_free', ADDRESS);
    this.freeContext = freeContext;
    this.control = bind('int', 'EVP_CIPHER_CTX_ctrl', ADDRESS, 'int', 'int', ADDRESS);
    this.setPadding = bind('int', 'EVP_CIPHER_CTX_set_padding', ADDRESS, 'int');
    this.#fetchCipher = bind(ADDRESS, 'EVP_CIPHER_fetch', 'void *', 'const char *', 'const char *');
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

/** The longest input in bytes: OpenSSL's lengths are of type `int`. */
const LONGEST = 0x7fff_ffff;

/** Bytes up to which input is copied to native memory, which is cheaper than getting its address. */
const SHORT = 64;

/** One direction, with its unused contexts. */
interface PooledDirection extends EvpDirection {
  readonly contexts: EvpContextPool;
}

/** Offsets in the memory that all messages share. */
const KEY_AT = 0;
const NO_KEY_AT = 32;
const NONCE_AT = 64;
const TAG_AT = 80;
const WRITTEN_AT = 96;
const DATA_AT = 104;

/**
 * AEADs of the OpenSSL inside Node, without the objects that node:crypto creates for each message:
 * three to five times as fast (docs/performance.md).
 *
 * Lengths are checked before any call, and a freed context is never used again, so that no input
 * can access other memory.
 */
export class Evp {
  readonly functions = new EvpFunctions();
  readonly encrypt: PooledDirection;
  readonly decrypt: PooledDirection;
  /**
   * Scratch memory for keys, nonces, tags and short messages; secrets are cleared after each call.
   */
  readonly memory: NativeMemory;

  /** Binds the functions. @throws {NativeError} if the functions are not available. */
  constructor() {
    const { encrypt, decrypt, newContext, freeContext } = this.functions;
    this.encrypt = { ...encrypt, contexts: new EvpContextPool(newContext, freeContext) };
    this.decrypt = { ...decrypt, contexts: new EvpContextPool(newContext, freeContext) };
    this.memory = nativeMemory(DATA_AT + SHORT, ({ buffer }) => addressOf(buffer));
  }

  /** Initialises a context for a direction of a cipher, with a key of the cipher's length. */
  open(name: EvpAeadName, { init, contexts }: PooledDirection, key: Uint8Array): number {
    const pooled = contexts.take(name);
    const context = pooled ?? contexts.create();
    try {
      this.rekey(context, pooled === undefined ? this.functions.cipher(name) : 0, init, key);
    } catch (error) {
      contexts.give(name, context, false);
      throw error;
    }
    return context;
  }

  /** Returns a context to the pool, without its key. */
  close(name: EvpAeadName, { init, contexts }: PooledDirection, context: number): void {
    const zeros = this.memory.at + NO_KEY_AT;
    contexts.give(name, context, init(context, 0, 0, zeros, zeros) === 1);
  }

  /** Sets the key, which OpenSSL copies. @param cipher the cipher; 0 for the current one of the context. */
  rekey(context: number, cipher: number, init: EvpDirection['init'], key: Uint8Array): void {
    const { bytes, at } = this.memory;
    copy(key, bytes, KEY_AT, key.length);
    const result = init(context, cipher, 0, at + KEY_AT, 0);
    bytes.fill(0, KEY_AT, KEY_AT + key.length);
    must(result);
  }
}

/** Copies the first bytes; for a few bytes a loop is cheaper than a view and a call. */
function copy(from: Uint8Array, to: Uint8Array, at: number, length: number): void {
  for (let i = 0; i < length; i++) to[at + i] = from[i] as number; // within
}

const NOTHING = new Uint8Array(0);

/** An `EVP_CIPHER_CTX`, owned until disposed of. */
class EvpContext implements Disposable {
  readonly name: EvpAeadName;
  protected readonly evp: Evp;
  protected readonly direction: PooledDirection;
  #context: number;

  constructor(evp: Evp, direction: PooledDirection, name: EvpAeadName, key: Uint8Array) {
    checkKeyLength(name, key);
    this.name = name;
    this.evp = evp;
    this.direction = direction;
    this.#context = evp.open(name, direction, key);
    evp.functions.forgotten.register(this, this.#context, this);
  }

  /** Replaces the key. The bytes are copied. */
  rekey(key: Uint8Array): void {
    const context = this.live();
    checkKeyLength(this.name, key);
    this.evp.rekey(context, 0, this.direction.init, key);
  }

  [Symbol.dispose](): void {
    const context = this.#context;
    if (context === 0) return;
    this.#context = 0;
    this.evp.functions.forgotten.unregister(this);
    this.evp.close(this.name, this.direction, context);
  }

  /** Returns the context, which must be used synchronously. @throws {NativeError} after disposal. */
  protected live(): number {
    if (this.#context === 0) throw new NativeError('a cipher was used after it was closed');
    return this.#context;
  }

  /** Starts a message. */
  protected begin(context: number, nonce: Uint8Array): void {
    const { bytes, at } = this.evp.memory;
    copy(nonce, bytes, NONCE_AT, EVP_NONCE_LENGTH);
    must(this.direction.init(context, 0, 0, 0, at + NONCE_AT));
  }

  /** Adds associated data. */
  protected associate(context: number, associated: Uint8Array): void {
    const { length } = associated;
    if (length === 0) return;
    const { bytes, at } = this.evp.memory;
    if (length <= SHORT) {
      copy(associated, bytes, DATA_AT, length);
      must(this.direction.update(context, 0, at + WRITTEN_AT, at + DATA_AT, length));
      return;
    }
    must(this.direction.updateBytes(context, null, at + WRITTEN_AT, associated, length));
  }

  /** Encrypts or decrypts the first `length` bytes of `input` to `out`, which may be the same. */
  protected update(context: number, out: Uint8Array, input: Uint8Array, length: number): void {
    if (length === 0) return;
    const { bytes, at } = this.evp.memory;
    if (length > SHORT) {
      must(this.direction.updateBytes(context, out, at + WRITTEN_AT, input, length));
      return;
    }
    copy(input, bytes, DATA_AT, length);
    must(this.direction.update(context, at + DATA_AT, at + WRITTEN_AT, at + DATA_AT, length));
    for (let i = 0; i < length; i++) {
      out[i] = bytes[DATA_AT + i] as number; // within
      bytes[DATA_AT + i] = 0;
    }
  }
}

/** Seals messages under one key. */
export class EvpSealer extends EvpContext {
  /** @throws {RangeError} if the length of the key is not that of the cipher. */
  constructor(evp: Evp, name: EvpAeadName, key: Uint8Array) {
    super(evp, evp.encrypt, name, key);
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
    this.begin(context, nonce);
    this.associate(context, associated);
    this.update(context, out, plain, length);
    const { bytes, at } = this.evp.memory;
    must(this.direction.final(context, at + TAG_AT, at + WRITTEN_AT));
    must(this.evp.functions.control(context, GET_TAG, EVP_TAG_LENGTH, at + TAG_AT));
    for (let i = 0; i < EVP_TAG_LENGTH; i++) out[length + i] = bytes[TAG_AT + i] as number; // within
  }
}

/** Opens messages under one key. */
export class EvpOpener extends EvpContext {
  /** @throws {RangeError} if the length of the key is not that of the cipher. */
  constructor(evp: Evp, name: EvpAeadName, key: Uint8Array) {
    super(evp, evp.decrypt, name, key);
  }

  /**
   * Writes the plaintext of `sealed`, 16 bytes shorter, to the start of `out`. Returns false if the tag is wrong; that
   * part of `out` is then zero.
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
    const { bytes, at } = this.evp.memory;
    for (let i = 0; i < EVP_TAG_LENGTH; i++) bytes[TAG_AT + i] = sealed[length + i] as number; // within
    this.begin(context, nonce);
    must(this.evp.functions.control(context, SET_TAG, EVP_TAG_LENGTH, at + TAG_AT));
    this.associate(context, associated);
    this.update(context, out, sealed, length);
    if (this.direction.final(context, at + TAG_AT, at + WRITTEN_AT) === 1) return true;
    out.fill(0, 0, length);
    return false;
  }
}

/** Unused contexts that are kept per cipher; each takes about 1 KB of native memory. */
export const POOLED_CONTEXTS = 64;

/**
 * Unused OpenSSL contexts of one direction, for reuse by the next cipher of the same name: freeing
 * one and creating another takes longer than sealing a short message. Their keys are wiped.
 */
export class EvpContextPool {
  readonly #newContext: () => number;
  readonly #freeContext: (context: number) => void;
  /** Unused contexts by cipher name. */
  readonly #unused = new Map<string, number[]>();

  constructor(newContext: () => number, freeContext: (context: number) => void) {
    this.#newContext = newContext;
    this.#freeContext = freeContext;
  }

  /** Takes an unused context that was initialised for this cipher; `undefined` if there is none. */
  take(cipher: string): number | undefined {
    return this.#unused.get(cipher)?.pop();
  }

  /** Creates an uninitialised context. @throws {NativeError} when OpenSSL is out of memory. */
  create(): number {
    const context = this.#newContext();
    if (context === 0) throw new NativeError('OpenSSL is out of memory');
    return context;
  }

  /** Keeps a context, or frees it if there are enough or its key could not be wiped. */
  give(cipher: string, context: number, isWiped: boolean): void {
    let unused = this.#unused.get(cipher);
    if (!unused) this.#unused.set(cipher, (unused = []));
    if (isWiped && unused.length < POOLED_CONTEXTS) unused.push(context);
    else this.#freeContext(context);
  }
}
