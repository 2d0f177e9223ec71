import type { EvpMaskName } from '../../platform/openssl/evp-functions.ts';
import {
  EvpMasks,
  EvpPacketOpener,
  EvpPacketSealer,
  PacketEvp,
} from '../../platform/openssl/evp-packets.ts';
import type { PacketCipherBackend, PacketCipherName } from './packet-cipher-contract.ts';

/** The cipher that makes the masks of packets of another one (RFC 9001 §5.4.3, §5.4.4). */
const MASKS: Readonly<Record<PacketCipherName, EvpMaskName>> = {
  'aes-128-gcm': 'aes-128-ecb',
  'aes-256-gcm': 'aes-256-ecb',
  'chacha20-poly1305': 'chacha20',
};

/**
 * Packets sealed and opened by OpenSSL where they are: five native calls a packet, one for the masks
 * of a batch.
 *
 * @throws {NativeError} on machines where OpenSSL cannot be called.
 */
export function openOpensslPacketCiphers(): PacketCipherBackend {
  const evp = new PacketEvp();
  return {
    name: 'openssl',
    sealing: (name, key) => new EvpPacketSealer(evp, name, key),
    opening: (name, key) => new EvpPacketOpener(evp, name, key),
    headerMasks: (name, key) => new EvpMasks(evp, MASKS[name], key),
  };
}
