import { addressOf, NativeError, openSelf } from '../native.ts';
import { nativeMemory, type NativeMemory } from '../native-memory.ts';
import {
  EVP_KEY_LENGTHS,
  EVP_NONCE_LENGTH,
  EVP_TAG_LENGTH,
  GET_TAG,
  SET_TAG,
  type EvpCipherName,
} from './evp.ts';

/** Ciphers that make masks of header protection (RFC 9001 §5.4). */
export type EvpMaskName = 'AES-128-ECB' | 'AES-256-ECB' | 'ChaCha20';

/** Samples and masks have 16 bytes; as many of them are computed at once. */
export const EVP_MASK_LENGTH = 16;
export const EVP_MASK_BATCH = 64;

const KEY_LENGTHS: Readonly<Record<EvpCipherName | EvpMaskName, number>> = {
  ...EVP_KEY_LENGTHS,
  'AES-128-ECB': 16,
  'AES-256-ECB': 32,
  ChaCha20: 32,
};

type Init = (context: number, cipher: number, engine: 0, key: number, nonce: number) => number;
type Update = (
  context: number,
  out: number,
  outLength: number,
  input: number,
  length: number,
) => number;
type Final = (context: number, out: number, outLength: number) => number;

/** EVP with addresses as plain numbers, the cheapest arguments of a native call. */
interface EvpFunctions {
  readonly newContext: () => number;
  readonly freeContext: (context: number) => void;
  readonly fetchCipher: (library: null, name: string, properties: null) => number;
  readonly setPadding: (context: number, pad: number) => number;
  readonly control: (context: number, command: number, length: number, at: number) => number;
  readonly encryptInit: Init;
  readonly encryptUpdate: Update;
  readonly encryptFinal: Final;
  readonly decryptInit: Init;
  readonly decryptUpdate: Update;
  readonly decryptFinal: Final;
}

/**
 * Ciphers of the OpenSSL inside Node for packets that lie in a larger buffer: they are given offsets,
 * not views, because a view for each part of each packet costs more than the cipher.
 *
 * Ranges are checked here before any call, and a freed context is never used again, so that no input
 * can reach memory of others.
 */
export class PacketEvp {
  readonly functions: EvpFunctions;
  /** Only for contexts that were not disposed of. */
  readonly forgotten: FinalizationRegistry<number>;
  /** Input and output of mask computations; what they hold counts until the next one. */
  readonly samples: NativeMemory;
  readonly masks: NativeMemory;
  /** The nonce of the next packet, whichever cipher seals or opens it. */
  readonly nonce: NonceMemory;
  /** 16 zero bytes, and where OpenSSL writes the length of masks behind them. */
  readonly zeros: NativeMemory;
  /** A key on its way to OpenSSL, which copies it. */
  readonly key: NativeMemory;
  readonly #ciphers = new Map<string, number>();
  readonly #addresses = new WeakMap<ArrayBufferLike, number>();
  #lastMemory: ArrayBufferLike | undefined;
  #lastAddress = 0;

  /** @throws {NativeError} where the functions are not available. */
  constructor() {
    const library = openSelf();
    const address = 'uintptr_t';
    const bind = (result: string, name: string, ...parts: string[]) =>
      library.func(`${result} ${name}(${parts.join(', ')})`);
    const init = [address, address, address, address, address];
    const update = [address, address, address, address, 'int'];
    const final = [address, address, address];
    try {
      this.functions = {
        newContext: bind(address, 'EVP_CIPHER_CTX_new'),
        freeContext: bind('void', 'EVP_CIPHER_CTX_free', address),
        fetchCipher: bind(address, 'EVP_CIPHER_fetch', 'void *', 'const char *', 'const char *'),
        setPadding: bind('int', 'EVP_CIPHER_CTX_set_padding', address, 'int'),
        control: bind('int', 'EVP_CIPHER_CTX_ctrl', address, 'int', 'int', address),
        encryptInit: bind('int', 'EVP_EncryptInit_ex', ...init),
        encryptUpdate: bind('int', 'EVP_EncryptUpdate', ...update),
        encryptFinal: bind('int', 'EVP_EncryptFinal_ex', ...final),
        decryptInit: bind('int', 'EVP_DecryptInit_ex', ...init),
        decryptUpdate: bind('int', 'EVP_DecryptUpdate', ...update),
        decryptFinal: bind('int', 'EVP_DecryptFinal_ex', ...final),
      };
    } catch (error) {
      throw new NativeError('this Node does not export EVP', { cause: error });
    }
    const { freeContext } = this.functions;
    this.forgotten = new FinalizationRegistry((context) => freeContext(context));
    this.samples = this.memory(EVP_MASK_BATCH * EVP_MASK_LENGTH);
    this.masks = this.memory(EVP_MASK_BATCH * EVP_MASK_LENGTH);
    this.nonce = new NonceMemory(this);
    this.zeros = this.memory(24);
    this.key = this.memory(32);
  }

  memory(size: number): NativeMemory {
    return nativeMemory(size, ({ buffer }) => addressOf(buffer));
  }

  /**
   * The address of the first byte of `bytes`. A typed array whose bytes V8 keeps on its heap is moved
   * off it by the access to `buffer`.
   */
  addressOf(bytes: Uint8Array): number {
    const memory = bytes.buffer;
    if (memory === this.#lastMemory) return this.#lastAddress + bytes.byteOffset;
    let address = this.#addresses.get(memory);
    if (address === undefined) {
      address = addressOf(memory);
      this.#addresses.set(memory, address);
    }
    this.#lastMemory = memory;
    this.#lastAddress = address;
    return address + bytes.byteOffset;
  }

  /** A cipher's description, fetched once: a fetch for each context costs a lock. */
  cipher(name: EvpCipherName | EvpMaskName): number {
    let cipher = this.#ciphers.get(name);
    if (cipher === undefined) {
      cipher = this.functions.fetchCipher(null, name, null);
      if (cipher === 0) throw new NativeError(`OpenSSL has no ${name}`);
      this.#ciphers.set(name, cipher);
    }
    return cipher;
  }
}

/** One `EVP_CIPHER_CTX`, owned by one object and freed once. */
class PacketContext implements Disposable {
  protected readonly evp: PacketEvp;
  protected readonly functions: EvpFunctions;
  #context: number;

  constructor(
    evp: PacketEvp,
    name: EvpCipherName | EvpMaskName,
    key: Uint8Array,
    initialize: (functions: EvpFunctions) => Init,
  ) {
    // OpenSSL reads as many bytes as the cipher needs.
    if (key.length !== KEY_LENGTHS[name]) throw new RangeError('the key has another length');
    const cipher = evp.cipher(name);
    this.evp = evp;
    this.functions = evp.functions;
    this.#context = this.functions.newContext();
    if (this.#context === 0) throw new NativeError('OpenSSL is out of memory');
    evp.forgotten.register(this, this.#context, this);
    evp.key.bytes.set(key);
    const result = initialize(this.functions)(this.#context, cipher, 0, evp.key.at, 0);
    evp.key.bytes.fill(0);
    this.must(result);
  }

  [Symbol.dispose](): void {
    const context = this.#context;
    if (context === 0) return;
    this.#context = 0;
    this.evp.forgotten.unregister(this);
    this.functions.freeContext(context);
  }

  /** The context, for calls made before anything else can run. */
  protected live(): number {
    if (this.#context === 0) throw new NativeError('a cipher was used after it was closed');
    return this.#context;
  }

  /** Every function of EVP returns 1 on success. */
  protected must(result: number): void {
    if (result !== 1) throw new NativeError('OpenSSL reported a failure');
  }
}

/** The nonce of a cipher, and where OpenSSL writes the length of each output. */
class NonceMemory {
  readonly bytes: Uint8Array;
  readonly at: number;
  readonly lengthAt: number;

  constructor(evp: PacketEvp) {
    const memory = evp.memory(24);
    this.bytes = memory.bytes.subarray(0, EVP_NONCE_LENGTH);
    this.at = memory.at;
    this.lengthAt = memory.at + 16;
  }
}

function checkRange(bytes: Uint8Array, start: number, middle: number, end: number): void {
  // Written so that NaN fails, too.
  if (!(start >= 0 && start <= middle && middle <= end && end <= bytes.length)) {
    throw new RangeError('the packet is not within its buffer');
  }
}

/** Seals packets under one key. */
export class EvpPacketSealer extends PacketContext {
  /** @throws {RangeError} for a key of another length than the cipher's. */
  constructor(evp: PacketEvp, name: EvpCipherName, key: Uint8Array) {
    super(evp, name, key, ({ encryptInit }) => encryptInit);
  }

  /** 12 bytes, to be set before each call: all ciphers share them. */
  get nonce(): Uint8Array {
    return this.evp.nonce.bytes;
  }

  /** Encrypts from `middle` to `end` and writes the tag behind; from `start` on is authenticated. */
  seal(bytes: Uint8Array, start: number, middle: number, end: number): void {
    const context = this.live();
    checkRange(bytes, start, middle, end + EVP_TAG_LENGTH);
    if (middle > end) throw new RangeError('the packet is not within its buffer');
    const { encryptInit, encryptUpdate, encryptFinal, control } = this.functions;
    const { at, lengthAt } = this.evp.nonce;
    const address = this.evp.addressOf(bytes);
    const data = address + middle;
    this.must(encryptInit(context, 0, 0, 0, at));
    if (middle > start) {
      this.must(encryptUpdate(context, 0, lengthAt, address + start, middle - start));
    }
    if (end > middle) this.must(encryptUpdate(context, data, lengthAt, data, end - middle));
    this.must(encryptFinal(context, data, lengthAt));
    this.must(control(context, GET_TAG, EVP_TAG_LENGTH, address + end));
  }
}

/** Opens packets under one key. */
export class EvpPacketOpener extends PacketContext {
  /** @throws {RangeError} for a key of another length than the cipher's. */
  constructor(evp: PacketEvp, name: EvpCipherName, key: Uint8Array) {
    super(evp, name, key, ({ decryptInit }) => decryptInit);
  }

  /** 12 bytes, to be set before each call: all ciphers share them. */
  get nonce(): Uint8Array {
    return this.evp.nonce.bytes;
  }

  /**
   * Decrypts from `middle` to `end` - 16, where the tag is. False when the tag does not fit; then
   * that part is zero.
   */
  open(bytes: Uint8Array, start: number, middle: number, end: number): boolean {
    const context = this.live();
    checkRange(bytes, start, middle, end);
    const tag = end - EVP_TAG_LENGTH;
    if (tag < middle) return false;
    const { decryptInit, decryptUpdate, decryptFinal, control } = this.functions;
    const { at, lengthAt } = this.evp.nonce;
    const address = this.evp.addressOf(bytes);
    const data = address + middle;
    this.must(decryptInit(context, 0, 0, 0, at));
    this.must(control(context, SET_TAG, EVP_TAG_LENGTH, address + tag));
    if (middle > start) {
      this.must(decryptUpdate(context, 0, lengthAt, address + start, middle - start));
    }
    if (tag > middle) this.must(decryptUpdate(context, data, lengthAt, data, tag - middle));
    if (decryptFinal(context, data, lengthAt) === 1) return true;
    bytes.fill(0, middle, tag);
    return false;
  }
}

/** Computes masks of header protection under one key. */
export class EvpMasks extends PacketContext {
  readonly #ecb: boolean;

  /** @throws {RangeError} for a key of another length than the cipher's. */
  constructor(evp: PacketEvp, name: EvpMaskName, key: Uint8Array) {
    super(evp, name, key, ({ encryptInit }) => encryptInit);
    this.#ecb = name !== 'ChaCha20';
    this.must(this.functions.setPadding(this.live(), 0));
  }

  /** Turns the first `count` samples of `PacketEvp` into masks. */
  compute(count: number): void {
    const context = this.live();
    if (!(count >= 0 && count <= EVP_MASK_BATCH)) throw new RangeError('too many samples');
    const { samples, masks, zeros: memory } = this.evp;
    const { encryptInit, encryptUpdate } = this.functions;
    const zeros = memory.at;
    const lengthAt = zeros + 16;
    if (this.#ecb) {
      if (count === 0) return;
      this.must(encryptUpdate(context, masks.at, lengthAt, samples.at, count * EVP_MASK_LENGTH));
      return;
    }
    // A sample is the block counter in little-endian order and the nonce, as OpenSSL takes them.
    for (let i = 0; i < count; i++) {
      const offset = i * EVP_MASK_LENGTH;
      this.must(encryptInit(context, 0, 0, 0, samples.at + offset));
      this.must(encryptUpdate(context, masks.at + offset, lengthAt, zeros, EVP_MASK_LENGTH));
    }
  }
}
