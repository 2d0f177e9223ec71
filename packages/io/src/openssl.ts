/** Ciphers of the OpenSSL that Node contains. */
export { Evp, type EvpMaskName, EvpOpener, EvpSealer } from './platform/openssl/evp.ts';
export {
  EvpMasks,
  EvpPacketOpener,
  EvpPacketSealer,
  PacketEvp,
} from './platform/openssl/evp-packets.ts';
export { EvpBlake2b, EvpShake128, NativeSha1, NativeSha256 } from './platform/openssl/hashes.ts';
