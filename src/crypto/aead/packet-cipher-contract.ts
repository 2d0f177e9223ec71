import type { AeadName } from './aead-contract.ts';

/**
 * Ciphers for packets in a larger buffer, given by offsets: a view for each part of each packet
 * would cost more than the cipher.
 */

/** The ciphers of packets; nonces have 12 bytes and tags 16. */
export type PacketCipherName = Exclude<AeadName, 'xchacha20-poly1305'>;

/** A cipher under one key, for one direction. Dispose of it when the key is discarded. */
export interface PacketCipher extends Disposable {
  readonly name: PacketCipherName;
  /**
   * 12 bytes that the caller sets before each packet. All ciphers of an implementation may share
   * them, so they are valid only until the next packet of any of them.
   */
  readonly nonce: Uint8Array;
}

/** Seals packets in place. */
export interface PacketSealing extends PacketCipher {
  /**
   * Encrypts the bytes from `middle` to `end` and writes the tag to the 16 bytes after them. The
   * bytes from `start` to `middle` are authenticated and unchanged.
   *
   * @throws {RangeError} when the packet is not within `bytes`.
   */
  seal(bytes: Uint8Array, start: number, middle: number, end: number): void;
}

/** Opens packets in place. */
export interface PacketOpening extends PacketCipher {
  /**
   * Decrypts the bytes from `middle` to `end` - 16; the last 16 are the tag. The bytes from `start`
   * to `middle` are authenticated.
   *
   * @returns false when the packet is not authentic or too short; no plaintext is left in the
   *   buffer then.
   * @throws {RangeError} when the packet is not within `bytes`.
   */
  open(bytes: Uint8Array, start: number, middle: number, end: number): boolean;
}

/** Bytes of a sample and of a mask. */
export const MASK_LENGTH = 16;
/** The most masks of one call. */
export const MASK_BATCH = 64;

/** Computes the masks of QUIC's header protection (RFC 9001 §5.4) under one key. */
export interface HeaderMasks extends Disposable {
  /**
   * Input and output of `compute`, 64 times 16 bytes each. All ciphers of an implementation may
   * share them, so they are valid only until the next call.
   */
  readonly samples: Uint8Array;
  /** Only the first 5 bytes of each mask are used. */
  readonly masks: Uint8Array;
  /**
   * Computes the masks of the first `count` samples.
   * @throws {RangeError} for more than 64.
   */
  compute(count: number): void;
}

/** An implementation of the ciphers. All behave the same: see test/conformance/packet-cipher.ts. */
export interface PacketCipherBackend {
  readonly name: 'baseline' | 'openssl';
  /** @throws {RangeError} for a key of the wrong length; so do the others. */
  sealing(name: PacketCipherName, key: Uint8Array): PacketSealing;
  opening(name: PacketCipherName, key: Uint8Array): PacketOpening;
  /** The masks that belong to the cipher `name`. */
  headerMasks(name: PacketCipherName, key: Uint8Array): HeaderMasks;
}
