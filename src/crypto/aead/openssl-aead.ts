import { Evp, EvpOpener, EvpSealer, type EvpCipherName } from '../../platform/openssl/evp.ts';
import {
  checkKey,
  type AeadBackend,
  type AeadName,
  type Opener,
  type Sealer,
} from './aead-contract.ts';
import { extendedOpener, extendedSealer } from './extended-nonce.ts';

type DirectAead = Exclude<AeadName, 'xchacha20-poly1305'>;

/** What OpenSSL calls the ciphers. */
export const OPENSSL_NAMES: Readonly<Record<DirectAead, EvpCipherName>> = {
  'aes-128-gcm': 'AES-128-GCM',
  'aes-256-gcm': 'AES-256-GCM',
  'chacha20-poly1305': 'ChaCha20-Poly1305',
};

class OpensslSealer extends EvpSealer implements Sealer {
  readonly name: AeadName;

  constructor(evp: Evp, name: DirectAead, key: Uint8Array) {
    super(evp, OPENSSL_NAMES[name], key);
    this.name = name;
  }
}

class OpensslOpener extends EvpOpener implements Opener {
  readonly name: AeadName;

  constructor(evp: Evp, name: DirectAead, key: Uint8Array) {
    super(evp, OPENSSL_NAMES[name], key);
    this.name = name;
  }
}

/**
 * The same ciphers with one context reused for every message.
 *
 * @throws {NativeError} on machines where OpenSSL cannot be called.
 */
export function openOpensslAead(): AeadBackend {
  const evp = new Evp();
  const backend: AeadBackend = {
    name: 'openssl',
    sealer(name, key) {
      checkKey(name, key);
      return name === 'xchacha20-poly1305'
        ? extendedSealer(backend, key)
        : new OpensslSealer(evp, name, key);
    },
    opener(name, key) {
      checkKey(name, key);
      return name === 'xchacha20-poly1305'
        ? extendedOpener(backend, key)
        : new OpensslOpener(evp, name, key);
    },
  };
  return backend;
}
