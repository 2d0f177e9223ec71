import type { AeadName } from './aead-contract.ts';

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
   *
   * @throws {RangeError} if the packet is not within `bytes`.
   */
  seal(bytes: Uint8Array, start: number, middle: number, end: number): void;
}

/** Opens packets in place. */
export interface PacketOpening extends PacketCipher {
  /**
   * Decrypts the bytes from `middle` to `end` - 16 in place; the last 16 bytes are the tag. The bytes from `start` to
   * `middle` are associated data.
   *
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
  /**
   * Computes the masks of the first `count` samples.
   * @throws {RangeError} for more than 64.
   */
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
