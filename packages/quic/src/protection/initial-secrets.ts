import { hkdfExpandLabel, hkdfExtract, equalInConstantTime } from '@weir/crypto/hash';
import { CipherSuite, PacketOpener, PacketSealer } from './packet-keys.ts';
import { createSealer, TAG_LENGTH, type Sealer } from '@weir/crypto/aead';

/** The Initial salt of version 1 (RFC 9001 §5.2). */
const SALT = Buffer.from('38762cf7f55934b34d179ae6a4c80cadccbb7f0a', 'hex');

const SECRET_SIZE = 32;

/** The keys of both directions at one encryption level. */
interface LevelKeys {
  readonly sealer: PacketSealer;
  readonly opener: PacketOpener;
}

/**
 * Returns the keys of Initial packets (RFC 9001 §5.2).
 *
 * @param destinationId the destination id of the client's first Initial packet, or of the one after a Retry.
 * @param side the side that uses the keys.
 */
export function initialKeys(destinationId: Uint8Array, side: 'client' | 'server'): LevelKeys {
  const secret = hkdfExtract('sha256', SALT, destinationId);
  const client = hkdfExpandLabel('sha256', secret, 'client in', SECRET_SIZE);
  const server = hkdfExpandLabel('sha256', secret, 'server in', SECRET_SIZE);
  const [own, other] = side === 'client' ? [client, server] : [server, client];
  return {
    sealer: new PacketSealer(CipherSuite.AES_128_GCM_SHA256, own),
    opener: new PacketOpener(CipherSuite.AES_128_GCM_SHA256, other),
  };
}

/** Key and nonce of version 1 (RFC 9001 §5.8). They are public: the tag only detects accidental changes. */
const KEY = Buffer.from('be0c690b9f66575a1d766b54e368c84e', 'hex');
const NONCE = Buffer.from('461599d35d632bf2239825bb', 'hex');

const NOTHING = new Uint8Array(0);

/**
 * Writes the integrity tag of a Retry packet (RFC 9001 §5.8) at `end`. Returns the offset after it.
 *
 * @param originalId the destination connection id of the Initial packet that the Retry responds to.
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

/** Whether the tag of a Retry packet is valid for an Initial packet to `originalId`. */
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

/** Returns the tag of an empty plaintext, with the Retry Pseudo-Packet as associated data. */
function retryTag(packet: Uint8Array, originalId: Uint8Array): Uint8Array {
  const pseudoPacket = Buffer.concat([Uint8Array.of(originalId.length), originalId, packet]);
  const tag = new Uint8Array(TAG_LENGTH);
  using sealer: Sealer = createSealer('aes-128-gcm', KEY);
  sealer.seal(NONCE, NOTHING, tag, pseudoPacket);
  return tag;
}
