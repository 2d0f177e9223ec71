import { hkdfExpandLabel, type HkdfHash } from '@weir/crypto/hash';
import {
  MASK_BATCH,
  MASK_LENGTH,
  packetCiphers,
  type HeaderMasks,
  type PacketCipherName,
  type PacketOpening,
  type PacketSealing,
} from '@weir/crypto/aead/packet-ciphers';
import { decodePacketNumber, numberSizeOf } from '../wire/packet-header.ts';

/** TLS cipher suites of QUIC version 1 (RFC 9001 §5.3). */
export const CipherSuite = {
  AES_128_GCM_SHA256: 0x1301,
  AES_256_GCM_SHA384: 0x1302,
  CHACHA20_POLY1305_SHA256: 0x1303,
} as const;
export type CipherSuite = (typeof CipherSuite)[keyof typeof CipherSuite];

/** The algorithms of a suite, and its usage limits in packets (RFC 9001 §6.6). */
interface Suite {
  readonly cipher: PacketCipherName;
  readonly hash: HkdfHash;
  readonly keySize: number;
  readonly confidentialityLimit: number;
  readonly integrityLimit: number;
}

const SUITES: Readonly<Record<CipherSuite, Suite>> = {
  [CipherSuite.AES_128_GCM_SHA256]: {
    cipher: 'aes-128-gcm',
    hash: 'sha256',
    keySize: 16,
    confidentialityLimit: 2 ** 23,
    integrityLimit: 2 ** 52,
  },
  [CipherSuite.AES_256_GCM_SHA384]: {
    cipher: 'aes-256-gcm',
    hash: 'sha384',
    keySize: 32,
    confidentialityLimit: 2 ** 23,
    integrityLimit: 2 ** 52,
  },
  [CipherSuite.CHACHA20_POLY1305_SHA256]: {
    cipher: 'chacha20-poly1305',
    hash: 'sha256',
    keySize: 32,
    // More than there are packet numbers, so there is no limit.
    confidentialityLimit: 2 ** 62,
    integrityLimit: 2 ** 36,
  },
};

/** Whether a TLS cipher suite can protect packets. */
export const isCipherSuite = (value: number): value is CipherSuite => value in SUITES;

/** Bytes of the AEAD tag that protection adds to a packet. */
export const TAG_SIZE = 16;
/** Minimum size from the packet number to the end of the tag: the sample follows the first 4 bytes (§5.4.2). */
const MIN_PROTECTED_SIZE = 4 + MASK_LENGTH;

const NONCE_SIZE = 12;

/** Header protection of one direction. Its key never changes (§6.1), so all key phases share it. */
class HeaderProtection {
  readonly masks: HeaderMasks;
  #users = 1;

  constructor({ cipher, hash, keySize }: Suite, secret: Uint8Array) {
    const key = hkdfExpandLabel(hash, secret, 'quic hp', keySize);
    this.masks = packetCiphers().headerMasks(cipher, key);
  }

  share(): this {
    this.#users++;
    return this;
  }

  release(): void {
    this.#users--;
    if (this.#users > 0) return;
    this.masks[Symbol.dispose]();
    if (ahead.of === this) ahead.of = undefined;
  }

  /** Copies the sample of the packet whose number is at `numberOffset`. A loop, since it has 16 bytes only. */
  sample(bytes: Uint8Array, numberOffset: number, index: number): void {
    const { samples } = this.masks;
    const from = numberOffset + 4;
    const to = index * MASK_LENGTH;
    for (let i = 0; i < MASK_LENGTH; i++) samples[to + i] = bytes[from + i] as number; // within
  }
}

/**
 * Masks computed ahead for a batch of packets, and their owner. All connections share one batch, so that an idle one
 * holds no memory. Copied, because ciphers share their memory.
 */
const ahead = {
  of: undefined as HeaderProtection | undefined,
  count: 0,
  masks: new Uint8Array(MASK_BATCH * MASK_LENGTH),
};

/** The IV, whose last 8 bytes are combined with the packet number to form the nonce (§5.3). */
class PacketNonce {
  readonly #fixed: number;
  readonly #high: number;
  readonly #low: number;

  constructor(iv: Uint8Array) {
    const view = new DataView(iv.buffer, iv.byteOffset, iv.byteLength);
    this.#fixed = view.getInt32(0);
    this.#high = view.getInt32(4);
    this.#low = view.getInt32(8);
  }

  /** Sets the nonce of a cipher, whose buffer is shared with other connections. */
  set(nonce: Uint8Array, packetNumber: number): void {
    const fixed = this.#fixed;
    const high = this.#high ^ Math.floor(packetNumber / 2 ** 32);
    const low = this.#low ^ (packetNumber % 2 ** 32);
    nonce[0] = fixed >>> 24;
    nonce[1] = fixed >>> 16;
    nonce[2] = fixed >>> 8;
    nonce[3] = fixed;
    nonce[4] = high >>> 24;
    nonce[5] = high >>> 16;
    nonce[6] = high >>> 8;
    nonce[7] = high;
    nonce[8] = low >>> 24;
    nonce[9] = low >>> 16;
    nonce[10] = low >>> 8;
    nonce[11] = low;
  }
}

/** Bits of the first byte that header protection covers (§5.4.1). */
const LONG_HEADER = 0x80;
const coveredBits = (firstByte: number): number => ((firstByte & LONG_HEADER) === 0 ? 0x1f : 0x0f);

/** The keys of one direction at one encryption level, derived from a secret of TLS (RFC 9001 §5.1). */
abstract class PacketKeys<Cipher extends PacketSealing | PacketOpening> implements Disposable {
  readonly suite: CipherSuite;
  protected readonly cipher: Cipher;
  protected readonly nonce: PacketNonce;
  protected readonly protection: HeaderProtection;
  readonly #secret: Uint8Array;
  #disposed = false;

  /**
   * @param secret the traffic secret of TLS; copied.
   * @param createCipher creates the cipher for the key.
   */
  constructor(
    suite: CipherSuite,
    secret: Uint8Array,
    createCipher: (name: PacketCipherName, key: Uint8Array) => Cipher,
    protection?: HeaderProtection,
  ) {
    const parts = SUITES[suite];
    this.suite = suite;
    this.#secret = Uint8Array.from(secret);
    const key = hkdfExpandLabel(parts.hash, secret, 'quic key', parts.keySize);
    this.cipher = createCipher(parts.cipher, key);
    const iv = hkdfExpandLabel(parts.hash, secret, 'quic iv', NONCE_SIZE);
    this.nonce = new PacketNonce(iv);
    this.protection = protection ?? new HeaderProtection(parts, secret);
  }

  /** Returns the secret after a key update (§6.1). */
  protected nextSecret(): Uint8Array {
    return hkdfExpandLabel(SUITES[this.suite].hash, this.#secret, 'quic ku', this.#secret.length);
  }

  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.cipher[Symbol.dispose]();
    this.protection.release();
  }
}

/**
 * Seals the packets of one direction at one level, in place.
 *
 * Packet number and plaintext must have at least 4 bytes together (§5.4.2). Dispose of it when its keys are
 * discarded.
 */
export class PacketSealer extends PacketKeys<PacketSealing> {
  /** The number of packets that these keys may seal (§6.6). */
  readonly confidentialityLimit: number;
  #sealed = 0;
  /** Packets whose headers are not protected yet, all in one buffer. */
  #pendingBytes: Uint8Array | undefined;
  readonly #pendingStarts: number[] = [];
  readonly #pendingNumbers: number[] = [];
  #pending = 0;

  /** @param secret the traffic secret of TLS; copied. */
  constructor(suite: CipherSuite, secret: Uint8Array, protection?: HeaderProtection) {
    super(suite, secret, (name, key) => packetCiphers().sealing(name, key), protection);
    this.confidentialityLimit = SUITES[suite].confidentialityLimit;
  }

  /** Number of packets sealed with these keys. */
  get sealed(): number {
    return this.#sealed;
  }

  /**
   * Encrypts a packet and appends its tag. Its header is not protected until `protectHeaders`, which must be called
   * before the packet is sent, and before `bytes` is reused.
   *
   * @param start the start of the packet; the bytes before the plaintext are authenticated.
   * @param numberOffset the offset of the packet number of `numberSize` bytes; the plaintext follows.
   * @param end the end of the plaintext; `bytes` has room for the tag of 16 bytes after it.
   * @returns the end of the packet, after its tag.
   * @throws {RangeError} for ranges outside `bytes`, and for a packet too short for a sample.
   */
  seal(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    numberSize: number,
    end: number,
    packetNumber: number,
  ): number {
    if (end + TAG_SIZE - numberOffset < MIN_PROTECTED_SIZE) {
      throw new RangeError('a packet is too short for header protection');
    }
    if (this.#pending === MASK_BATCH || this.#pendingBytes !== bytes) this.protectHeaders();
    this.nonce.set(this.cipher.nonce, packetNumber);
    this.cipher.seal(bytes, start, numberOffset + numberSize, end);
    this.#sealed++;
    this.#pendingBytes = bytes;
    this.#pendingStarts[this.#pending] = start;
    this.#pendingNumbers[this.#pending] = numberOffset;
    this.#pending++;
    return end + TAG_SIZE;
  }

  /** Protects the headers of the packets sealed since the last call, in one batch. */
  protectHeaders(): void {
    const bytes = this.#pendingBytes;
    const count = this.#pending;
    if (bytes === undefined) return;
    const { masks } = this.protection.masks;
    for (let i = 0; i < count; i++) {
      this.protection.sample(bytes, this.#pendingNumbers[i] as number, i);
    }
    this.protection.masks.compute(count);
    for (let i = 0; i < count; i++) {
      const start = this.#pendingStarts[i] as number; // below `#pending`
      const numberOffset = this.#pendingNumbers[i] as number;
      const first = bytes[start] as number; // sealed, so it is within
      const mask = i * MASK_LENGTH;
      for (let n = numberSizeOf(first); n > 0; n--) {
        const at = numberOffset + n - 1;
        bytes[at] = (bytes[at] as number) ^ (masks[mask + n] as number);
      }
      bytes[start] = first ^ ((masks[mask] as number) & coveredBits(first));
    }
    this.#pending = 0;
    this.#pendingBytes = undefined;
  }

  /** Returns the keys after a key update, with the same header protection (§6.1). */
  next(): PacketSealer {
    return new PacketSealer(this.suite, this.nextSecret(), this.protection.share());
  }

  override [Symbol.dispose](): void {
    this.#pendingBytes = undefined;
    this.#pending = 0;
    super[Symbol.dispose]();
  }
}

/** Opens the packets of one direction at one level, in place. */
export class PacketOpener extends PacketKeys<PacketOpening> {
  /** The number of failed packets at which the connection closes with AEAD_LIMIT_REACHED (§6.6). */
  readonly integrityLimit: number;
  #rejected = 0;

  /** @param secret the traffic secret of TLS; copied. */
  constructor(suite: CipherSuite, secret: Uint8Array, protection?: HeaderProtection) {
    super(suite, secret, (name, key) => packetCiphers().opening(name, key), protection);
    this.integrityLimit = SUITES[suite].integrityLimit;
  }

  /** Number of packets that failed authentication with these keys. */
  get rejected(): number {
    return this.#rejected;
  }

  /**
   * Computes the header protection masks of packets at equal distances, such as the datagrams of one receive call, for
   * `unprotect` with an index below the returned count. Valid until masks are prepared with other keys, after which
   * `unprotect` computes its own.
   *
   * @param numberOffset the offset of the first packet's number.
   * @param stride bytes from packet to packet; at least 1.
   * @param end the end of the bytes; a last packet too short for a sample is omitted.
   * @returns the number of masks, at most 64.
   */
  prepareMasks(bytes: Uint8Array, numberOffset: number, stride: number, end: number): number {
    const protection = this.protection;
    let count = 0;
    for (let at = numberOffset; at + MIN_PROTECTED_SIZE <= end; at += stride) {
      if (count === MASK_BATCH) break;
      protection.sample(bytes, at, count);
      count++;
    }
    protection.masks.compute(count);
    ahead.masks.set(protection.masks.masks);
    ahead.of = protection;
    ahead.count = count;
    return count;
  }

  /**
   * Removes header protection from the first byte and the packet number.
   *
   * @param end the end of the packet.
   * @param largest the largest number received in this space; -1 before the first.
   * @param mask the index of a mask from `prepareMasks`; -1 to compute it here.
   * @returns the full packet number, or -1 for a packet that is too short.
   */
  unprotect(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    end: number,
    largest: number,
    mask = -1,
  ): number {
    if (end - numberOffset < MIN_PROTECTED_SIZE) return -1;
    const protection = this.protection;
    let { masks } = protection.masks;
    let from = 0;
    if (mask >= 0 && mask < ahead.count && ahead.of === protection) {
      ({ masks } = ahead);
      from = mask * MASK_LENGTH;
    } else {
      protection.sample(bytes, numberOffset, 0);
      protection.masks.compute(1);
    }
    const covered = bytes[start] as number; // before `end`
    const first = covered ^ ((masks[from] as number) & coveredBits(covered));
    bytes[start] = first;
    const size = numberSizeOf(first);
    let truncated = 0;
    for (let i = 0; i < size; i++) {
      const byte = (bytes[numberOffset + i] as number) ^ (masks[from + 1 + i] as number);
      bytes[numberOffset + i] = byte;
      truncated = truncated * 256 + byte;
    }
    return decodePacketNumber(largest, truncated, size);
  }

  /**
   * Decrypts a packet after `unprotect`. The plaintext is from `numberOffset` + the size of the packet number to
   * `end` - 16.
   *
   * @returns false if the packet is not authentic: it must be dropped, and nothing in it used.
   */
  open(
    bytes: Uint8Array,
    start: number,
    numberOffset: number,
    end: number,
    packetNumber: number,
  ): boolean {
    const size = numberSizeOf(bytes[start] as number);
    this.nonce.set(this.cipher.nonce, packetNumber);
    if (this.cipher.open(bytes, start, numberOffset + size, end)) return true;
    this.#rejected++;
    return false;
  }

  /** Returns the keys after a key update, with the same header protection (§6.1). */
  next(): PacketOpener {
    return new PacketOpener(this.suite, this.nextSecret(), this.protection.share());
  }
}
