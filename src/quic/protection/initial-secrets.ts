import { hkdfExpandLabel, hkdfExtract } from '../../crypto/hash/keyed-hash.ts';
import { CipherSuite, PacketOpener, PacketSealer } from './packet-keys.ts';

/** The Initial salt of version 1 (RFC 9001 §5.2). */
const SALT = Buffer.from('38762cf7f55934b34d179ae6a4c80cadccbb7f0a', 'hex');

const SECRET_SIZE = 32;

/** The keys of both directions at one encryption level. */
export interface LevelKeys {
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
