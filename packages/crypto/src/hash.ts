/** SHA-256 with a key, and HKDF. */
export {
  equalInConstantTime,
  hkdfExpandLabel,
  hkdfExtract,
  type HkdfHash,
  hmacSha256,
  sha256,
} from './hash/keyed-hash.ts';
