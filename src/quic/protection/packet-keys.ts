import { hkdfExpandLabel, type HkdfHash } from '../../crypto/hash/hkdf.ts';
import {
  MASK_BATCH,
  MASK_LENGTH,
  packetCiphers,
  type HeaderMasks,
  type PacketCipherName,
  type PacketOpening,
  type PacketSealing,
} from '../../crypto/aead/packet-ciphers.ts';
import { decodePacketNumber } from '../wire/packet-number.ts';
import { numberSizeOf } from '../wire/packet-header.ts';

/** TLS cipher suites of QUIC version 1 (RFC 9001 §5.3). */
export const CipherSuite = {
  AES_128_GCM_SHA256: 0x1301,
  AES_256_GCM_SHA384: 0x1302,
  CHACHA20_POLY1305_SHA256: 0x1303,
} as const;
export type CipherSuite = (typeof CipherSuite)[keyof typeof CipherSuite];

/** What a suite protects packets with, and for how many of them (RFC 9001 §6.6). */
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
    // More than there are packet numbers.
    confidentialityLimit: 2 ** 62,
    integrityLimit: 2 ** 36,
  },
};

/** Whether a number of TLS is a suite that packets can be protected with. */
export const isCipherSuite = (value: number): value is CipherSuite => value in SUITES;

/** Bytes that protection adds to a packet. */
export const TAG_SIZE = 16;
/** Bytes that a packet has from its number on, tag included: the sample is behind the first 4 (§5.4.2). */
export const MIN_PROTECTED_SIZE = 4 + MASK_LENGTH;

const NONCE_SIZE = 12;

/** Header protection of one direction: the same through all key updates (§6.1), released by the last. */
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

  /** Copies the sample of the packet whose number starts at `numberOffset`. A loop: it has 16 bytes. */
  sample(bytes: Uint8Array, numberOffset: number, index: number): void {
    const { samples } = this.masks;
    const from = numberOffset + 4;
    const to = index * MASK_LENGTH;
    for (let i = 0; i < MASK_LENGTH; i++) samples[to + i] = bytes[from + i] as number; // within
  }
}

/**
 * Masks that were computed ahead for a batch, and whose they are: those of one connection at a time, so
 * that an idle one holds none. Copied, because ciphers share their memory.
 */
const ahead = {
  of: undefined as HeaderProtection | undefined,
  count: 0,
  masks: new Uint8Array(MASK_BATCH * MASK_LENGTH),
};

/** The part of a nonce that is fixed: its last 8 bytes are combined with packet numbers (§5.3). */
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

  /** Sets the nonce of a cipher, which others may have used. */
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

/** The keys of one direction at one level, which TLS has made the secret of (RFC 9001 §5.1). */
abstract class PacketKeys<Cipher extends PacketSealing | PacketOpening> implements Disposable {
  readonly suite: CipherSuite;
  protected readonly cipher: Cipher;
  protected readonly nonce: PacketNonce;
  protected readonly protection: HeaderProtection;
  readonly #secret: Uint8Array;
  #disposed = false;

  /**
   * @param secret the traffic secret of TLS; copied.
   * @param createCipher makes the cipher of the key.
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

  /** The secret after a key update (§6.1). */
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
 * A packet has at least 4 bytes of packet number and plaintext together (§5.4.2). Dispose of it when
 * its keys are discarded.
 */
export class PacketSealer extends PacketKeys<PacketSealing> {
  /** How many packets these keys may seal (§6.6). */
  readonly confidentialityLimit: number;
  #sealed = 0;
  /** Packets whose headers are not yet protected: they are all in one buffer. */
  #pendingBytes: Uint8Array | undefined;
  readonly #pendingStarts: number[] = [];
  readonly #pendingNumbers: number[] = [];
  #pending = 0;

  /** @param secret the traffic secret of TLS; copied. */
  constructor(suite: CipherSuite, secret: Uint8Array, protection?: HeaderProtection) {
    super(suite, secret, (name, key) => packetCiphers().sealing(name, key), protection);
    this.confidentialityLimit = SUITES[suite].confidentialityLimit;
  }

  /** Packets sealed with these keys. */
  get sealed(): number {
    return this.#sealed;
  }

  /**
   * Encrypts a packet and appends its tag. Its header stays readable until `protectHeaders`, which
   * has to be called before the packet is sent, and before `bytes` are used for others.
   *
   * @param start of the packet; what stands before the plaintext is authenticated.
   * @param numberOffset of the packet number, of `numberSize` bytes, behind which the plaintext starts.
   * @param end of the plaintext; 16 bytes follow in `bytes`.
   * @returns the end of the packet, behind its tag.
   * @throws {RangeError} for ranges outside of `bytes`, and for a packet without a sample.
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
      const start = this.#pendingStarts[i] as number; // as many as are pending
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

  /** The keys after a key update, with the same header protection (§6.1). */
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
  /** How many packets may fail before the connection closes with AEAD_LIMIT_REACHED (§6.6). */
  readonly integrityLimit: number;
  #rejected = 0;

  /** @param secret the traffic secret of TLS; copied. */
  constructor(suite: CipherSuite, secret: Uint8Array, protection?: HeaderProtection) {
    super(suite, secret, (name, key) => packetCiphers().opening(name, key), protection);
    this.integrityLimit = SUITES[suite].integrityLimit;
  }

  /** Packets that these keys have not found authentic. */
  get rejected(): number {
    return this.#rejected;
  }

  /**
   * Computes the header protection masks of packets that lie at equal distances, such as the
   * datagrams of one receive: for `unprotect` with an index from 0 to the returned count - 1, until masks
   * are prepared with other keys; it computes its own then.
   *
   * @param numberOffset of the first packet's number.
   * @param stride from packet to packet; at least 1.
   * @param end of the bytes; packets too short for a sample at the end are left out.
   * @returns how many masks are ready, 64 at most.
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
   * Removes header protection: the first byte and the packet number are readable afterwards.
   *
   * @param end of the packet.
   * @param largest number received in this space; -1 before the first.
   * @param mask the index of a mask that `prepareMasks` has computed; -1 to compute it here.
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
   * Decrypts an unprotected packet. The plaintext is from `numberOffset` + the size of the packet
   * number to `end` - 16.
   *
   * @returns false when the packet is not authentic: it is dropped, and nothing of it is to be used.
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

  /** The keys after a key update, with the same header protection (§6.1). */
  next(): PacketOpener {
    return new PacketOpener(this.suite, this.nextSecret(), this.protection.share());
  }
}
