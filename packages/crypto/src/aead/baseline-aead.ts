import {
  type CipherChaCha20Poly1305,
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type DecipherChaCha20Poly1305,
  type DecipherGCM,
  type KeyObject,
} from 'node:crypto';
import { hchacha } from '@noble/ciphers/chacha.js';
import {
  AEAD_SHAPES,
  type AeadBackend,
  type AeadName,
  checkKey,
  CryptoError,
  type Opener,
  type Sealer,
  TAG_LENGTH,
} from './contract.ts';

/** "expand 32-byte k", the constant of ChaCha20 (RFC 8439 §2.3), as little-endian words. */
const SIGMA = Uint32Array.of(0x61707865, 0x3320646e, 0x79622d32, 0x6b206574);

const PREFIX = 16;
const { keyLength: KEY, nonceLength: NONCE } = AEAD_SHAPES['xchacha20-poly1305'];

/** Computes HChaCha20 (draft-irtf-cfrg-xchacha §2.2): the subkey for the first 16 bytes of a nonce. */
export function hchacha20(key: Uint8Array, prefix: Uint8Array): Uint8Array {
  const out = new Uint32Array(8);
  hchacha(SIGMA, words(key, 8), words(prefix, 4), out);
  return new Uint8Array(out.buffer);
}

/** Reads words in the machine's byte order, as the library expects. */
function words(bytes: Uint8Array, count: number): Uint32Array {
  const copy = new Uint32Array(count);
  new Uint8Array(copy.buffer).set(bytes.subarray(0, count * 4));
  return copy;
}

/**
 * Derives the key and nonce of ChaCha20 from those of XChaCha20. Successive counter nonces share their first 16 bytes,
 * so their subkey is derived only once.
 */
class ExtendedNonce {
  readonly #key = new Uint8Array(KEY);
  readonly #prefix = new Uint8Array(PREFIX);
  readonly #short = new Uint8Array(12);
  #made = false;

  setKey(key: Uint8Array): void {
    checkKey('xchacha20-poly1305', key);
    this.#key.set(key);
    this.#made = false;
  }

  /** Returns the inner nonce, after it has called `rekey` if this nonce needs another subkey. */
  split(nonce: Uint8Array, rekey: (key: Uint8Array) => void): Uint8Array {
    if (nonce.length !== NONCE) throw new RangeError(`a nonce has ${NONCE} bytes`);
    if (!this.#made || this.#differs(nonce)) {
      for (let i = 0; i < PREFIX; i++) this.#prefix[i] = nonce[i] as number; // length checked
      rekey(hchacha20(this.#key, this.#prefix));
      this.#made = true;
    }
    for (let i = 4; i < 12; i++) this.#short[i] = nonce[PREFIX - 4 + i] as number;
    return this.#short;
  }

  #differs(nonce: Uint8Array): boolean {
    for (let i = 0; i < PREFIX; i++) if (nonce[i] !== this.#prefix[i]) return true;
    return false;
  }
}

/** XChaCha20-Poly1305 on a ChaCha20-Poly1305 cipher. */
class ExtendedCipher<Inner extends Sealer | Opener> implements Disposable {
  readonly name: AeadName = 'xchacha20-poly1305';
  protected readonly inner: Inner;
  readonly #nonce = new ExtendedNonce();
  readonly #rekeyInner = (derived: Uint8Array): void => this.inner.rekey(derived);

  constructor(inner: Inner, key: Uint8Array) {
    this.inner = inner;
    this.#nonce.setKey(key);
  }

  rekey(key: Uint8Array): void {
    this.#nonce.setKey(key);
  }

  /** Returns the nonce for the inner cipher, which then uses the subkey of `nonce`. */
  protected innerNonce(nonce: Uint8Array): Uint8Array {
    return this.#nonce.split(nonce, this.#rekeyInner);
  }

  [Symbol.dispose](): void {
    this.inner[Symbol.dispose]();
  }
}

class ExtendedSealer extends ExtendedCipher<Sealer> implements Sealer {
  seal(nonce: Uint8Array, plain: Uint8Array, out: Uint8Array, associated?: Uint8Array): void {
    this.inner.seal(this.innerNonce(nonce), plain, out, associated);
  }
}

class ExtendedOpener extends ExtendedCipher<Opener> implements Opener {
  open(nonce: Uint8Array, sealed: Uint8Array, out: Uint8Array, associated?: Uint8Array): boolean {
    return this.inner.open(this.innerNonce(nonce), sealed, out, associated);
  }
}

export function extendedSealer(backend: AeadBackend, key: Uint8Array): Sealer {
  checkKey('xchacha20-poly1305', key);
  return new ExtendedSealer(backend.sealer('chacha20-poly1305', key), key);
}

export function extendedOpener(backend: AeadBackend, key: Uint8Array): Opener {
  checkKey('xchacha20-poly1305', key);
  return new ExtendedOpener(backend.opener('chacha20-poly1305', key), key);
}

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
