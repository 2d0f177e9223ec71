import { agrees } from './self-test.ts';
import { type AeadBackend, type AeadName, type Opener, type Sealer, checkKey } from './contract.ts';
import { baselineAead, extendedOpener, extendedSealer } from './baseline-aead.ts';
import { checkedAead } from './checked.ts';
import { chooseBackend } from '../choose-backend.ts';
import { Evp, EvpOpener, EvpSealer } from '@weir/io/openssl';

export {
  AEAD_SHAPES,
  CryptoError,
  NonceCounter,
  TAG_LENGTH,
  type AeadName,
  type AeadShape,
  type Opener,
  type Sealer,
} from './contract.ts';

/** Selects the AEAD implementation of this process; see `chooseBackend`. */
export const chooseAead = (setting = process.env['WEIR_CRYPTO']): AeadBackend =>
  chooseBackend(
    { baseline: baselineAead, open: openOpensslAead, agrees, checked: checkedAead },
    setting,
  );

/** Selected when the first cipher is created, so that commands without ciphers do not load it. */
let chosen: AeadBackend | undefined;

/** Returns the AEAD implementation that this process uses. */
const aead = (): AeadBackend => (chosen ??= chooseAead());

/** Creates a cipher that seals under `key`. @throws {RangeError} for a key of the wrong length. */
export const createSealer = (name: AeadName, key: Uint8Array): Sealer => aead().sealer(name, key);

/** Creates a cipher that opens messages sealed under `key`. @throws {RangeError} for a key of the wrong length. */
export const createOpener = (name: AeadName, key: Uint8Array): Opener => aead().opener(name, key);

/**
 * Opens the AEADs of OpenSSL, which reuse one context for all messages of a cipher.
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
