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
export interface AeadCipher extends Disposable {
  readonly name: AeadName;
  /** Replaces the key by another of the same length, which is copied. Cheaper than a new cipher. */
  rekey(key: Uint8Array): void;
}

/** Seals messages. */
export interface Sealer extends AeadCipher {
  /**
   * Writes the ciphertext of `plain` followed by its tag to the start of `out`, which must have room for both and must
   * either start where `plain` does or not overlap it.
   *
   * @throws {RangeError} for a nonce or an `out` of the wrong length.
   */
  seal(nonce: Uint8Array, plain: Uint8Array, out: Uint8Array, associated?: Uint8Array): void;
}

/** Opens messages. */
export interface Opener extends AeadCipher {
  /**
   * Writes the plaintext of `sealed` (ciphertext, then tag), which is 16 bytes shorter, to the
   * start of `out`. `out` must either start where `sealed` does or not overlap it.
   *
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
