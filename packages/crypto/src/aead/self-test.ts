import {
  AEAD_SHAPES,
  type AeadBackend,
  type AeadName,
  MASK_BATCH,
  MASK_LENGTH,
  type PacketCipherBackend,
  type PacketCipherName,
  TAG_LENGTH,
} from './contract.ts';

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
const pattern = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (index * 31 + seed * 17 + (index >> 8)) & 0xff);

const PACKET_NAMES: readonly PacketCipherName[] = [
  'aes-128-gcm',
  'aes-256-gcm',
  'chacha20-poly1305',
];

/** Payload lengths around the ciphers' block sizes, and that of a full packet. */
const PAYLOAD_LENGTHS = [0, 1, 16, 63, 64, 65, 1_337];

/**
 * Whether `candidate` behaves as `truth` does: packets, rejection of forged packets, masks. Takes about a millisecond.
 * Anything unexpected, including an exception, returns false.
 */
export function packetCiphersAgree(
  candidate: PacketCipherBackend,
  truth: PacketCipherBackend,
): boolean {
  try {
    return PACKET_NAMES.every(
      (name) => sealAlike(name, candidate, truth) && maskAlike(name, candidate, truth),
    );
  } catch {
    return false;
  }
}

function sealAlike(
  name: PacketCipherName,
  candidate: PacketCipherBackend,
  truth: PacketCipherBackend,
): boolean {
  const key = pattern(AEAD_SHAPES[name].keyLength, 1);
  using sealing = candidate.sealing(name, key);
  using opening = candidate.opening(name, key);
  using reference = truth.sealing(name, key);
  return PAYLOAD_LENGTHS.every((length, round) => {
    for (const { nonce } of [sealing, opening, reference]) nonce.set(pattern(12, round));
    const middle = 5 + round;
    const end = middle + length;
    const plain = pattern(end + TAG_LENGTH + 3, round);
    const expected = Uint8Array.from(plain);
    const packet = Uint8Array.from(plain);
    reference.seal(expected, 3, middle, end);
    sealing.seal(packet, 3, middle, end);
    if (Buffer.compare(packet, expected) !== 0) return false;
    const forged = Uint8Array.from(packet);
    forged[3 + round] = (forged[3 + round] ?? 0) ^ 0x40;
    if (opening.open(forged, 3, middle, end + TAG_LENGTH)) return false;
    if (!opening.open(packet, 3, middle, end + TAG_LENGTH)) return false;
    return Buffer.compare(packet.subarray(0, end), plain.subarray(0, end)) === 0;
  });
}

function maskAlike(
  name: PacketCipherName,
  candidate: PacketCipherBackend,
  truth: PacketCipherBackend,
): boolean {
  const key = pattern(AEAD_SHAPES[name].keyLength, 2);
  using masks = candidate.headerMasks(name, key);
  using reference = truth.headerMasks(name, key);
  return [1, 3, MASK_BATCH].every((count) => {
    const used = count * MASK_LENGTH;
    masks.samples.set(pattern(used, count));
    reference.samples.set(pattern(used, count));
    masks.compute(count);
    reference.compute(count);
    return Buffer.compare(masks.masks.subarray(0, used), reference.masks.subarray(0, used)) === 0;
  });
}
