import { addressOf, NativeError } from '../native.ts';
import { type NativeMemory, nativeMemory } from '../native-memory.ts';
import {
  checkKeyLength,
  EVP_NONCE_LENGTH,
  EVP_TAG_LENGTH,
  EvpFunctions,
  GET_TAG,
  must,
  SET_TAG,
  type EvpAeadName,
  type EvpCipherName,
  type EvpDirection,
  type EvpMaskName,
} from './evp.ts';

/** Bytes of a sample and of a mask; `EVP_MASK_BATCH` is the number that one call computes. */
const EVP_MASK_LENGTH = 16;
const EVP_MASK_BATCH = 64;

/**
 * Ciphers of the OpenSSL inside Node for packets in a larger buffer, given by offsets: a view for
 * each part of each packet would cost more than the cipher.
 *
 * Ranges are checked before any call, and a freed context is never used again, so that no input can
 * access other memory.
 */
export class PacketEvp {
  readonly functions = new EvpFunctions();
  /** Input and output of mask computations, valid until the next one. */
  readonly samples: NativeMemory;
  readonly masks: NativeMemory;
  /** The nonce of the next packet, shared by all ciphers. */
  readonly nonce: NonceMemory;
  /** 16 zero bytes, followed by space for the length that OpenSSL writes. */
  readonly zeros: NativeMemory;
  /** Scratch memory for a key, which OpenSSL copies. */
  readonly key: NativeMemory;
  readonly #addresses = new WeakMap<ArrayBufferLike, number>();
  #lastMemory: ArrayBufferLike | undefined;
  #lastAddress = 0;

  /** Binds the functions. @throws {NativeError} if the functions are not available. */
  constructor() {
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
   * Returns the address of the first byte of `bytes`. Reading `buffer` moves a small typed array off V8's
   * heap.
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
}

/** An `EVP_CIPHER_CTX`, owned and freed once. */
class PacketContext implements Disposable {
  protected readonly evp: PacketEvp;
  protected readonly direction: EvpDirection;
  #context: number;

  constructor(evp: PacketEvp, name: EvpCipherName, direction: EvpDirection, key: Uint8Array) {
    checkKeyLength(name, key);
    const { functions } = evp;
    const cipher = functions.cipher(name);
    this.evp = evp;
    this.direction = direction;
    this.#context = functions.newContext();
    if (this.#context === 0) throw new NativeError('OpenSSL is out of memory');
    functions.forgotten.register(this, this.#context, this);
    evp.key.bytes.set(key);
    const result = direction.init(this.#context, cipher, 0, evp.key.at, 0);
    evp.key.bytes.fill(0);
    must(result);
  }

  [Symbol.dispose](): void {
    const context = this.#context;
    if (context === 0) return;
    this.#context = 0;
    const { functions } = this.evp;
    functions.forgotten.unregister(this);
    functions.freeContext(context);
  }

  /** Returns the context, which must be used synchronously. @throws {NativeError} after disposal. */
  protected live(): number {
    if (this.#context === 0) throw new NativeError('a cipher was used after it was closed');
    return this.#context;
  }
}

/** One direction of an AEAD under one key. */
class PacketAead extends PacketContext {
  readonly name: EvpAeadName;

  constructor(evp: PacketEvp, name: EvpAeadName, direction: EvpDirection, key: Uint8Array) {
    super(evp, name, direction, key);
    this.name = name;
  }

  /** The nonce of 12 bytes, which must be set before each call, because all ciphers share it. */
  get nonce(): Uint8Array {
    return this.evp.nonce.bytes;
  }
}

/** The shared nonce, followed by space for the length that OpenSSL writes. */
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
export class EvpPacketSealer extends PacketAead {
  /** @throws {RangeError} if the length of the key is not that of the cipher. */
  constructor(evp: PacketEvp, name: EvpAeadName, key: Uint8Array) {
    super(evp, name, evp.functions.encrypt, key);
  }

  /** Encrypts from `middle` to `end` and appends the tag; authenticates from `start` on. */
  seal(bytes: Uint8Array, start: number, middle: number, end: number): void {
    const context = this.live();
    checkRange(bytes, start, middle, end + EVP_TAG_LENGTH);
    if (middle > end) throw new RangeError('the packet is not within its buffer');
    const { init, update, final } = this.direction;
    const { at, lengthAt } = this.evp.nonce;
    const address = this.evp.addressOf(bytes);
    const data = address + middle;
    must(init(context, 0, 0, 0, at));
    if (middle > start) {
      must(update(context, 0, lengthAt, address + start, middle - start));
    }
    if (end > middle) must(update(context, data, lengthAt, data, end - middle));
    must(final(context, data, lengthAt));
    must(this.evp.functions.control(context, GET_TAG, EVP_TAG_LENGTH, address + end));
  }
}

/** Opens packets under one key. */
export class EvpPacketOpener extends PacketAead {
  /** @throws {RangeError} if the length of the key is not that of the cipher. */
  constructor(evp: PacketEvp, name: EvpAeadName, key: Uint8Array) {
    super(evp, name, evp.functions.decrypt, key);
  }

  /**
   * Decrypts from `middle` to `end` - 16, followed by the tag. Returns false if the tag is wrong; that part is then
   * zero.
   */
  open(bytes: Uint8Array, start: number, middle: number, end: number): boolean {
    const context = this.live();
    checkRange(bytes, start, middle, end);
    const tag = end - EVP_TAG_LENGTH;
    if (tag < middle) return false;
    const { init, update, final } = this.direction;
    const { at, lengthAt } = this.evp.nonce;
    const address = this.evp.addressOf(bytes);
    const data = address + middle;
    must(init(context, 0, 0, 0, at));
    must(this.evp.functions.control(context, SET_TAG, EVP_TAG_LENGTH, address + tag));
    if (middle > start) {
      must(update(context, 0, lengthAt, address + start, middle - start));
    }
    if (tag > middle) must(update(context, data, lengthAt, data, tag - middle));
    if (final(context, data, lengthAt) === 1) return true;
    bytes.fill(0, middle, tag);
    return false;
  }
}

/** Computes masks of header protection under one key. */
export class EvpMasks extends PacketContext {
  /** The input and output of `compute`, which all ciphers share. */
  readonly samples: Uint8Array;
  readonly masks: Uint8Array;
  readonly #ecb: boolean;

  /** @throws {RangeError} if the length of the key is not that of the cipher. */
  constructor(evp: PacketEvp, name: EvpMaskName, key: Uint8Array) {
    super(evp, name, evp.functions.encrypt, key);
    this.samples = evp.samples.bytes;
    this.masks = evp.masks.bytes;
    this.#ecb = name !== 'chacha20';
    must(evp.functions.setPadding(this.live(), 0));
  }

  /** Computes masks of the first `count` samples. */
  compute(count: number): void {
    const context = this.live();
    if (!(count >= 0 && count <= EVP_MASK_BATCH)) throw new RangeError('too many samples');
    const { samples, masks, zeros: memory } = this.evp;
    const { init, update } = this.direction;
    const zeros = memory.at;
    const lengthAt = zeros + 16;
    if (this.#ecb) {
      if (count === 0) return;
      must(update(context, masks.at, lengthAt, samples.at, count * EVP_MASK_LENGTH));
      return;
    }
    // A sample is the block counter in little-endian order and the nonce, as OpenSSL expects them.
    for (let i = 0; i < count; i++) {
      const offset = i * EVP_MASK_LENGTH;
      must(init(context, 0, 0, 0, samples.at + offset));
      must(update(context, masks.at + offset, lengthAt, zeros, EVP_MASK_LENGTH));
    }
  }
}
