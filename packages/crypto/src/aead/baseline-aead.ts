import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type CipherChaCha20Poly1305,
  type CipherGCM,
  type DecipherChaCha20Poly1305,
  type DecipherGCM,
  type KeyObject,
} from 'node:crypto';
import {
  AEAD_SHAPES,
  checkKey,
  CryptoError,
  TAG_LENGTH,
  type AeadBackend,
  type AeadName,
  type Opener,
  type Sealer,
} from './aead-contract.ts';
import { extendedOpener, extendedSealer } from './extended-nonce.ts';

type NodeAead = Exclude<AeadName, 'xchacha20-poly1305'>;

const OPTIONS = { authTagLength: TAG_LENGTH };

/** Holds the key of a cipher until the cipher is disposed of. */
class KeyHolder {
  readonly name: NodeAead;
  #key: KeyObject | undefined;

  constructor(name: NodeAead, key: Uint8Array) {
    this.name = name;
    checkKey(name, key);
    this.#key = createSecretKey(key);
  }

  rekey(key: Uint8Array): void {
    checkKey(this.name, key);
    this.key();
    this.#key = createSecretKey(key);
  }

  /** @throws {CryptoError} once the cipher is closed. */
  protected key(): KeyObject {
    if (!this.#key) throw new CryptoError('a cipher was used after it was closed');
    return this.#key;
  }

  protected checkNonce(nonce: Uint8Array): void {
    const { nonceLength } = AEAD_SHAPES[this.name];
    if (nonce.length !== nonceLength) throw new RangeError(`a nonce has ${nonceLength} bytes`);
  }

  [Symbol.dispose](): void {
    this.#key = undefined;
  }
}

class BaselineSealer extends KeyHolder implements Sealer {
  seal(nonce: Uint8Array, plain: Uint8Array, out: Uint8Array, associated?: Uint8Array): void {
    const key = this.key();
    this.checkNonce(nonce);
    if (out.length < plain.length + TAG_LENGTH) {
      throw new RangeError('no room for the sealed bytes');
    }
    // Node's types have one overload for each family of ciphers.
    const cipher: CipherGCM | CipherChaCha20Poly1305 =
      this.name === 'chacha20-poly1305'
        ? createCipheriv(this.name, key, nonce, OPTIONS)
        : createCipheriv(this.name, key, nonce, OPTIONS);
    if (associated) cipher.setAAD(associated, { plaintextLength: plain.length });
    out.set(cipher.update(plain));
    cipher.final();
    out.set(cipher.getAuthTag(), plain.length);
  }
}

class BaselineOpener extends KeyHolder implements Opener {
  open(nonce: Uint8Array, sealed: Uint8Array, out: Uint8Array, associated?: Uint8Array): boolean {
    const key = this.key();
    this.checkNonce(nonce);
    const length = sealed.length - TAG_LENGTH;
    if (length < 0) return false;
    if (out.length < length) throw new RangeError('no room for the opened bytes');
    const decipher: DecipherGCM | DecipherChaCha20Poly1305 =
      this.name === 'chacha20-poly1305'
        ? createDecipheriv(this.name, key, nonce, OPTIONS)
        : createDecipheriv(this.name, key, nonce, OPTIONS);
    decipher.setAuthTag(sealed.subarray(length));
    if (associated) decipher.setAAD(associated, { plaintextLength: length });
    const plain = decipher.update(sealed.subarray(0, length));
    try {
      decipher.final();
    } catch {
      return false;
    }
    out.set(plain);
    return true;
  }
}

/** The AEADs on node:crypto, which work on every Node: the reference for other implementations. */
export const baselineAead: AeadBackend = {
  name: 'baseline',
  sealer: (name, key) =>
    name === 'xchacha20-poly1305'
      ? extendedSealer(baselineAead, key)
      : new BaselineSealer(name, key),
  opener: (name, key) =>
    name === 'xchacha20-poly1305'
      ? extendedOpener(baselineAead, key)
      : new BaselineOpener(name, key),
};
