import { AEAD_SHAPES, TAG_LENGTH, type AeadBackend, type AeadName } from './aead-contract.ts';

const NAMES = Object.keys(AEAD_SHAPES) as AeadName[];

/** Message lengths around the ciphers' block sizes, and that of a stream's chunk. */
const LENGTHS = [0, 1, 16, 63, 64, 65, 1420, 16_383];

/**
 * Whether `candidate` behaves as `truth` does: output, reuse, rekeying, and rejection of forged messages. Takes about
 * two milliseconds. Anything unexpected, including an exception, returns false.
 */
export function agrees(candidate: AeadBackend, truth: AeadBackend): boolean {
  try {
    return NAMES.every((name) => cipherAgrees(name, candidate, truth));
  } catch {
    return false;
  }
}

function cipherAgrees(name: AeadName, candidate: AeadBackend, truth: AeadBackend): boolean {
  const { keyLength, nonceLength } = AEAD_SHAPES[name];
  const key = pattern(keyLength, 1);
  using sealer = candidate.sealer(name, key);
  using opener = candidate.opener(name, key);
  using reference = truth.sealer(name, key);
  return LENGTHS.every((length, round) => {
    if (round === LENGTHS.length - 2) {
      const next = pattern(keyLength, 99);
      for (const cipher of [sealer, opener, reference]) cipher.rekey(next);
    }
    const nonce = pattern(nonceLength, round);
    const associated = pattern(round, 7);
    const plain = pattern(length, 3);
    const expected = Buffer.alloc(length + TAG_LENGTH);
    reference.seal(nonce, plain, expected, associated);
    const sealed = Buffer.alloc(length + TAG_LENGTH);
    sealer.seal(nonce, plain, sealed, associated);
    if (!sealed.equals(expected)) return false;
    const opened = Buffer.alloc(length);
    const forged = Buffer.from(sealed);
    forged[round % forged.length]! ^= 0x80; // never empty: it has a tag
    if (opener.open(nonce, forged, opened, associated)) return false;
    return opener.open(nonce, sealed, opened, associated) && opened.equals(plain);
  });
}

/** Returns bytes that differ from their neighbours and between seeds. */
export const pattern = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (index * 31 + seed * 17 + (index >> 8)) & 0xff);
