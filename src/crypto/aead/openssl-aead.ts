import { Evp, EvpOpener, EvpSealer } from '../../platform/openssl/evp.ts';
import { checkKey, type AeadBackend } from './aead-contract.ts';
import { extendedOpener, extendedSealer } from './extended-nonce.ts';

/**
 * Opens the AEADs of OpenSSL, which reuse one context for all messages of a cipher.
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
        : new EvpSealer(evp, name, key);
    },
    opener(name, key) {
      checkKey(name, key);
      return name === 'xchacha20-poly1305'
        ? extendedOpener(backend, key)
        : new EvpOpener(evp, name, key);
    },
  };
  return backend;
}
