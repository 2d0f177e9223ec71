import { agrees } from './aead-self-test.ts';
import type { AeadBackend, AeadName, Opener, Sealer } from './aead-contract.ts';
import { baselineAead } from './baseline-aead.ts';
import { checkedAead } from './checked-aead.ts';
import { chooseBackend } from '../choose-backend.ts';
import { openOpensslAead } from './openssl-aead.ts';

export {
  AEAD_SHAPES,
  CryptoError,
  TAG_LENGTH,
  type AeadName,
  type AeadShape,
  type Opener,
  type Sealer,
} from './aead-contract.ts';

/** See `chooseBackend`. */
export const chooseAead = (wish = process.env['WEIR_CRYPTO']): AeadBackend =>
  chooseBackend(
    { baseline: baselineAead, open: openOpensslAead, agrees, checked: checkedAead },
    wish,
  );

/** Chosen with the first cipher, so that commands without any do not load it. */
let chosen: AeadBackend | undefined;

/** The implementation in use in this process. */
export const aead = (): AeadBackend => (chosen ??= chooseAead());

/** A cipher that seals under `key`. @throws {RangeError} for a key of the wrong length. */
export const createSealer = (name: AeadName, key: Uint8Array): Sealer => aead().sealer(name, key);

/** A cipher that opens what was sealed under `key`. @throws {RangeError} likewise. */
export const createOpener = (name: AeadName, key: Uint8Array): Opener => aead().opener(name, key);
