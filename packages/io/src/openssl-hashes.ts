/** Hashes of the OpenSSL that Node contains. */
export { EvpBlake2b, EvpShake128 } from './platform/openssl/evp-digests.ts';
export { NativeSha1, NativeSha256 } from './platform/openssl/sha-compression.ts';
