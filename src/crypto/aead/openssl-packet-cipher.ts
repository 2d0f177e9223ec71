import {
  EvpMasks,
  EvpPacketOpener,
  EvpPacketSealer,
  PacketEvp,
  type EvpMaskName,
} from '../../platform/openssl/evp-packets.ts';
import { OPENSSL_NAMES } from './openssl-aead.ts';
import type {
  HeaderMasks,
  PacketCipherBackend,
  PacketCipherName,
  PacketOpening,
  PacketSealing,
} from './packet-cipher-contract.ts';

const MASKS: Readonly<Record<PacketCipherName, EvpMaskName>> = {
  'aes-128-gcm': 'AES-128-ECB',
  'aes-256-gcm': 'AES-256-ECB',
  'chacha20-poly1305': 'ChaCha20',
};

class OpensslSealing extends EvpPacketSealer implements PacketSealing {
  readonly name: PacketCipherName;

  constructor(evp: PacketEvp, name: PacketCipherName, key: Uint8Array) {
    super(evp, OPENSSL_NAMES[name], key);
    this.name = name;
  }
}

class OpensslOpening extends EvpPacketOpener implements PacketOpening {
  readonly name: PacketCipherName;

  constructor(evp: PacketEvp, name: PacketCipherName, key: Uint8Array) {
    super(evp, OPENSSL_NAMES[name], key);
    this.name = name;
  }
}

class OpensslMasks extends EvpMasks implements HeaderMasks {
  readonly samples: Uint8Array;
  readonly masks: Uint8Array;

  constructor(evp: PacketEvp, name: PacketCipherName, key: Uint8Array) {
    super(evp, MASKS[name], key);
    this.samples = evp.samples.bytes;
    this.masks = evp.masks.bytes;
  }
}

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
    sealing: (name, key) => new OpensslSealing(evp, name, key),
    opening: (name, key) => new OpensslOpening(evp, name, key),
    headerMasks: (name, key) => new OpensslMasks(evp, name, key),
  };
}
