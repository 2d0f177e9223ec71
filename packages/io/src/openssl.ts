/** Ciphers of the OpenSSL that Node contains. */
export type { EvpMaskName } from './platform/openssl/evp-functions.ts';
export {
  EvpMasks,
  EvpPacketOpener,
  EvpPacketSealer,
  PacketEvp,
} from './platform/openssl/evp-packets.ts';
export { Evp, EvpOpener, EvpSealer } from './platform/openssl/evp.ts';
