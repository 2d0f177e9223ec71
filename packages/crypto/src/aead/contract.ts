import { WeirError } from '@weir/base';

/** The supported AEADs; all have tags of 16 bytes. */
export type AeadName =
  | 'aes-128-gcm'
  | 'aes-256-gcm'
  | 'chacha20-poly1305'
  /** XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha §2): its nonces are long enough to be chosen at random. */
  | 'xchacha20-poly1305';

/** Key and nonce lengths of an AEAD in bytes. */
export interface AeadShape {
  readonly keyLength: number;
  readonly nonceLength: number;
}

export const AEAD_SHAPES: Readonly<Record<AeadName, AeadShape>> = {
  'aes-128-gcm': { keyLength: 16, nonceLength: 12 },
  'aes-256-gcm': { keyLength: 32, nonceLength: 12 },
  'chacha20-poly1305': { keyLength: 32, nonceLength: 12 },
  'xchacha20-poly1305': { keyLength: 32, nonceLength: 24 },
};

/** Number of bytes that sealing adds to a message. */
export const TAG_LENGTH = 16;

/** Misuse or failure of a cipher; not used for messages that are not authentic. */
export class CryptoError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('crypto', message, options);
  }
}

/**
 * A cipher under one key, for one direction of one connection. It holds native memory: dispose of it when the direction
 * ends. Using it afterwards throws a WeirError.
 */
interface AeadCipher extends Disposable {
  readonly name: AeadName;
  /** Replaces the key by another of the same length, which is copied. Cheaper than a new cipher. */
  rekey(key: Uint8Array): void;
}

/** Seals messages. */
export interface Sealer extends AeadCipher {
  /**
   * Writes the ciphertext of `plain` followed by its tag to the start of `out`, which must have room for both and must
   * either start where `plain` does or not overlap it.
   * @throws {RangeError} for a nonce or an `out` of the wrong length.
   */
  seal(nonce: Uint8Array, plain: Uint8Array, out: Uint8Array, associated?: Uint8Array): void;
}

/** Opens messages. */
export interface Opener extends AeadCipher {
  /**
   * Writes the plaintext of `sealed` (ciphertext, then tag), which is 16 bytes shorter, to the
   * start of `out`. `out` must either start where `sealed` does or not overlap it.
   * @returns false when the message is not authentic or too short; `out` then holds no plaintext.
   * @throws {RangeError} for a nonce or an `out` of the wrong length.
   */
  open(nonce: Uint8Array, sealed: Uint8Array, out: Uint8Array, associated?: Uint8Array): boolean;
}

/** An implementation of the AEADs. All behave identically: see packages/crypto/test/conformance/aead.ts. */
export interface AeadBackend {
  readonly name: 'baseline' | 'openssl';
  /** @throws {RangeError} for a key of the wrong length. */
  sealer(name: AeadName, key: Uint8Array): Sealer;
  /** @throws {RangeError} for a key of the wrong length. */
  opener(name: AeadName, key: Uint8Array): Opener;
}

/** Checks the length of a key before an implementation uses it. @throws {RangeError} for a key of the wrong length. */
export function checkKey(name: AeadName, key: Uint8Array): void {
  const { keyLength } = AEAD_SHAPES[name];
  if (key.length !== keyLength) throw new RangeError(`a key of ${name} has ${keyLength} bytes`);
}

/**
 * Ciphers for packets at offsets of a larger buffer: a view for each part of a packet would cost more than the cipher.
 */

/** AEADs for packets; nonces have 12 bytes and tags 16. */
export type PacketCipherName = Exclude<AeadName, 'xchacha20-poly1305'>;

/** A cipher under one key, for one direction. Dispose of it when the key is discarded. */
export interface PacketCipher extends Disposable {
  readonly name: PacketCipherName;
  /**
   * The nonce of 12 bytes, which the caller sets before each packet. All ciphers of an implementation may share the
   * array, so its contents are valid only until the next packet of any of them.
   */
  readonly nonce: Uint8Array;
}

/** Seals packets in place. */
export interface PacketSealing extends PacketCipher {
  /**
   * Encrypts the bytes from `middle` to `end` in place and writes the tag to the 16 bytes after them. The bytes from
   * `start` to `middle` are associated data.
   * @throws {RangeError} if the packet is not within `bytes`.
   */
  seal(bytes: Uint8Array, start: number, middle: number, end: number): void;
}

/** Opens packets in place. */
export interface PacketOpening extends PacketCipher {
  /**
   * Decrypts the bytes from `middle` to `end` - 16 in place; the last 16 bytes are the tag. The bytes from `start` to
   * `middle` are associated data.
   * @returns false if the packet is not authentic or too short; no plaintext is then left in the buffer.
   * @throws {RangeError} if the packet is not within `bytes`.
   */
  open(bytes: Uint8Array, start: number, middle: number, end: number): boolean;
}

/** Length of a sample and of a mask in bytes. */
export const MASK_LENGTH = 16;
/** Maximum number of masks that one call computes. */
export const MASK_BATCH = 64;

/** Computes the masks of QUIC's header protection (RFC 9001 §5.4) under one key. */
export interface HeaderMasks extends Disposable {
  /**
   * Input of `compute`: up to 64 samples of 16 bytes each. All ciphers of an implementation may share the arrays, so
   * they are valid only until the next call.
   */
  readonly samples: Uint8Array;
  /** Output of `compute`: masks at the positions of their samples; only the first 5 bytes of each are used. */
  readonly masks: Uint8Array;
  /** Computes the masks of the first `count` samples. @throws {RangeError} for more than 64. */
  compute(count: number): void;
}

/** An implementation of the packet ciphers. All behave identically: see packages/crypto/test/conformance/packet-cipher.ts. */
export interface PacketCipherBackend {
  readonly name: 'baseline' | 'openssl';
  /** @throws {RangeError} for a key of the wrong length, as do the other methods. */
  sealing(name: PacketCipherName, key: Uint8Array): PacketSealing;
  opening(name: PacketCipherName, key: Uint8Array): PacketOpening;
  /** Creates the header-protection masks that belong to the cipher `name`. */
  headerMasks(name: PacketCipherName, key: Uint8Array): HeaderMasks;
}

/**
 * A nonce that counts up from zero as a little-endian integer (SIP004 §2.2, SIP022 §3.1.2). It cannot overflow: the
 * shortest nonce suffices for 2^96 messages.
 */
export class NonceCounter {
  /** The current nonce. The array is reused: it is valid for one call of a cipher only. */
  readonly bytes: Uint8Array;

  /** @param length length of the nonce in bytes: 12 or 24. */
  constructor(length: number) {
    this.bytes = new Uint8Array(length);
  }

  /** Sets the nonce to its value after `count` messages and returns it. */
  at(count: number): Uint8Array {
    let rest = count;
    for (let i = 0; i < this.bytes.length; i++) {
      this.bytes[i] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    return this.bytes;
  }

  /** Increments the nonce. */
  next(): void {
    const { bytes } = this;
    for (let i = 0; i < bytes.length; i++) {
      const value = ((bytes[i] as number) + 1) & 0xff; // within
      bytes[i] = value;
      if (value !== 0) return;
    }
  }
}
