import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';

/** Length of a key and of a shared secret in bytes. */
export const X25519_LENGTH = 32;

/** The DER bytes before a key in PKCS #8 and in SubjectPublicKeyInfo (RFC 8410 §3 to §7). */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex');
const PUBLIC_PREFIX = Buffer.from('302a300506032b656e032100', 'hex');

/** An X25519 private key (RFC 7748 §5). OpenSSL holds the key, and clears it when the object is garbage-collected. */
export class X25519PrivateKey {
  readonly publicKey: Uint8Array;
  readonly #key: KeyObject;

  /**
   * @param bytes the key of 32 bytes, which is copied and clamped.
   * @throws {RangeError} for another length.
   */
  constructor(bytes: Uint8Array) {
    const der = encoded(PRIVATE_PREFIX, bytes);
    this.#key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    der.fill(0);
    const info = createPublicKey(this.#key).export({ format: 'der', type: 'spki' });
    this.publicKey = Uint8Array.from(info.subarray(PUBLIC_PREFIX.length));
  }

  /**
   * Computes the secret shared with the owner of a public key; `undefined` if that key is a point of low order, for
   * which the secret would be zero (RFC 7748 §6.1).
   * @throws {RangeError} for a length other than 32 bytes.
   */
  sharedSecret(publicKey: Uint8Array): Uint8Array | undefined {
    const der = encoded(PUBLIC_PREFIX, publicKey);
    const peer = createPublicKey({ key: der, format: 'der', type: 'spki' });
    try {
      return diffieHellman({ privateKey: this.#key, publicKey: peer });
    } catch {
      return undefined; // OpenSSL rejects a secret of zeros.
    }
  }
}

function encoded(prefix: Uint8Array, key: Uint8Array): Buffer {
  if (key.length !== X25519_LENGTH) throw new RangeError(`a key has ${X25519_LENGTH} bytes`);
  return Buffer.concat([prefix, key]);
}
