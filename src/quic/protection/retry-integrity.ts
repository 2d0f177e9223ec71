import { createSealer, TAG_LENGTH, type Sealer } from '../../crypto/aead.ts';
import { equalInConstantTime } from '../../crypto/keyed-hash.ts';

/** Key and nonce of version 1 (RFC 9001 §5.8). They are public: the tag keeps accidents out. */
const KEY = Uint8Array.of(
  ...[0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a],
  ...[0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e],
);
const NONCE = Uint8Array.of(
  ...[0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63],
  ...[0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb],
);

const NOTHING = new Uint8Array(0);

/**
 * Writes the integrity tag of a Retry packet (RFC 9001 §5.8) at `end`. Returns the offset behind it.
 *
 * @param originalId the destination connection id of the Initial packet that is answered.
 */
export function writeRetryTag(
  bytes: Uint8Array,
  start: number,
  end: number,
  originalId: Uint8Array,
): number {
  bytes.set(retryTag(bytes.subarray(start, end), originalId), end);
  return end + TAG_LENGTH;
}

/** Whether a Retry packet, with its tag, answers an Initial packet to `originalId`. */
export function isRetryAuthentic(
  bytes: Uint8Array,
  start: number,
  end: number,
  originalId: Uint8Array,
): boolean {
  const tagAt = end - TAG_LENGTH;
  if (tagAt < start) return false;
  const expected = retryTag(bytes.subarray(start, tagAt), originalId);
  return equalInConstantTime(bytes.subarray(tagAt, end), expected);
}

/** The tag of an empty plaintext, with the id and the packet as associated data. */
function retryTag(packet: Uint8Array, originalId: Uint8Array): Uint8Array {
  const pseudoPacket = Buffer.concat([Uint8Array.of(originalId.length), originalId, packet]);
  const tag = new Uint8Array(TAG_LENGTH);
  using sealer: Sealer = createSealer('aes-128-gcm', KEY);
  sealer.seal(NONCE, NOTHING, tag, pseudoPacket);
  return tag;
}
