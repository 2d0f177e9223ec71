import { agrees } from './aead-self-test.ts';
import type { AeadBackend, AeadName, Opener, Sealer } from './aead-contract.ts';
import { baselineAead } from './baseline-aead.ts';
import { checkedAead } from './checked-aead.ts';
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

/**
 * The fastest implementation that passes its self-test on this machine, else the baseline.
 *
 * The environment variable WEIR_CRYPTO asks for another: `baseline` never calls native code,
 * `checked` (for tests) compares every message with the baseline and reports ciphers that were not
 * disposed of.
 */
export function chooseAead(wish = process.env['WEIR_CRYPTO']): AeadBackend {
  if (wish === 'baseline') return baselineAead;
  const fast = fastAead();
  return wish === 'checked' ? checkedAead(fast, baselineAead) : fast;
}

function fastAead(): AeadBackend {
  try {
    const candidate = openOpensslAead();
    return agrees(candidate, baselineAead) ? candidate : baselineAead;
  } catch {
    return baselineAead; // No native functions on this machine.
  }
}

/** Chosen with the first cipher: commands that need none do not wait for it. */
let chosen: AeadBackend | undefined;

/** The implementation in use in this process. */
export const aead = (): AeadBackend => (chosen ??= chooseAead());

/** A cipher that seals under `key`. @throws {RangeError} for a key of the wrong length. */
export const createSealer = (name: AeadName, key: Uint8Array): Sealer => aead().sealer(name, key);

/** A cipher that opens what was sealed under `key`. @throws {RangeError} likewise. */
export const createOpener = (name: AeadName, key: Uint8Array): Opener => aead().opener(name, key);
