import type { AeadName } from './aead-contract.ts';

/**
 * Ciphers for packets that lie in a larger buffer, given by offsets: a view for each part of each
 * packet would cost more than the cipher.
 */

/** The ciphers that packets are sealed with; nonces have 12 bytes and tags 16. */
export type PacketCipherName = Exclude<AeadName, 'xchacha20-poly1305'>;

/** A cipher under one key, for one direction. Dispose of it when the key is discarded. */
export interface PacketCipher extends Disposable {
  readonly name: PacketCipherName;
  /**
   * 12 bytes that the caller sets before each packet. All ciphers of one implementation may share them:
   * they count until the next packet of any of them.
   */
  readonly nonce: Uint8Array;
}

/** Seals packets in place. */
export interface PacketSealing extends PacketCipher {
  /**
   * Encrypts the bytes from `middle` to `end` and writes the tag to the 16 bytes behind them. Those
   * from `start` to `middle` are authenticated and stay as they are.
   *
   * @throws {RangeError} when the packet is not within `bytes`.
   */
  seal(bytes: Uint8Array, start: number, middle: number, end: number): void;
}

/** Opens packets in place. */
export interface PacketOpening extends PacketCipher {
  /**
   * Decrypts the bytes from `middle` to `end` - 16; the last 16 are the tag. Those from `start` to
   * `middle` are authenticated.
   *
   * @returns false when the packet is not authentic or too short; no plaintext is left behind then.
   * @throws {RangeError} when the packet is not within `bytes`.
   */
  open(bytes: Uint8Array, start: number, middle: number, end: number): boolean;
}

/** Bytes of a sample and of a mask. */
export const MASK_LENGTH = 16;
/** How many masks one call makes. */
export const MASK_BATCH = 64;

/** Makes the masks of QUIC's header protection (RFC 9001 §5.4) under one key. */
export interface HeaderMasks extends Disposable {
  /**
   * 64 times 16 bytes that the caller fills, and as many that are filled for it. All ciphers of one
   * implementation may share them: they count until the next call.
   */
  readonly samples: Uint8Array;
  /** Of each mask, the first 5 bytes count. */
  readonly masks: Uint8Array;
  /**
   * Computes the masks of the first `count` samples.
   * @throws {RangeError} for more than 64.
   */
  compute(count: number): void;
}

/** One implementation of the ciphers. All do the same: see test/conformance/packet-cipher.ts. */
export interface PacketCipherBackend {
  readonly name: 'baseline' | 'openssl';
  /** @throws {RangeError} for a key of the wrong length; so do the others. */
  sealing(name: PacketCipherName, key: Uint8Array): PacketSealing;
  opening(name: PacketCipherName, key: Uint8Array): PacketOpening;
  /** The masks that belong to the cipher `name`. */
  headerMasks(name: PacketCipherName, key: Uint8Array): HeaderMasks;
}
