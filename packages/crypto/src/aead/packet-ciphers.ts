import { baselinePacketCiphers } from './baseline-packet-cipher.ts';
import { checkedPacketCiphers } from './checked.ts';
import { chooseBackend } from '../choose-backend.ts';
import type { PacketCipherBackend, PacketCipherName } from './packet-cipher-contract.ts';
import { packetCiphersAgree } from './self-test.ts';
import {
  type EvpMaskName,
  EvpMasks,
  EvpPacketOpener,
  EvpPacketSealer,
  PacketEvp,
} from '@weir/io/openssl';

export {
  MASK_BATCH,
  MASK_LENGTH,
  type HeaderMasks,
  type PacketCipherName,
  type PacketOpening,
  type PacketSealing,
} from './packet-cipher-contract.ts';

/** Selects the implementation of packet ciphers of this process; see `chooseBackend`. */
export const choosePacketCiphers = (wish = process.env['WEIR_CRYPTO']): PacketCipherBackend =>
  chooseBackend(
    {
      baseline: baselinePacketCiphers,
      open: openOpensslPacketCiphers,
      agrees: packetCiphersAgree,
      checked: checkedPacketCiphers,
    },
    wish,
  );

/** Selected when the first packet is processed, so that commands without packets do not load it. */
let chosen: PacketCipherBackend | undefined;

/** Returns the implementation of packet ciphers that this process uses. */
export const packetCiphers = (): PacketCipherBackend => (chosen ??= choosePacketCiphers());

/** The cipher that computes the header-protection masks for each packet cipher (RFC 9001 §5.4.3, §5.4.4). */
const MASKS: Readonly<Record<PacketCipherName, EvpMaskName>> = {
  'aes-128-gcm': 'aes-128-ecb',
  'aes-256-gcm': 'aes-256-ecb',
  'chacha20-poly1305': 'chacha20',
};

/**
 * Opens the packet ciphers of OpenSSL, which work in place: five native calls per packet, one per batch of masks.
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
