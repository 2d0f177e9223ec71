import { createHash, hash } from 'node:crypto';
import { Blake3KeyDerivation } from '@weir/crypto/hash/blake3-key';
import { hkdfSha1 } from '@weir/crypto/hash/hkdf-sha1';
import type { Method } from './methods.ts';

/**
 * Returns the master key of a legacy password: OpenSSL's `EVP_BytesToKey` with MD5, one round and no salt,
 * as in every edition before 2022.
 *
 * @param length the length of the key in bytes.
 */
export function keyOfPassword(password: string, length: number): Buffer {
  const secret = Buffer.from(password, 'utf8');
  let key = Buffer.alloc(0);
  let last = Buffer.alloc(0);
  while (key.length < length) {
    last = createHash('md5').update(last).update(secret).digest();
    key = Buffer.concat([key, last]);
  }
  return key.subarray(0, length);
}

/** The reason why a text is not a valid pre-shared key of a method, for the operator. */
export type InvalidPsk = 'PSK too short' | 'PSK is not valid base64';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Decodes a pre-shared key (SIP022 §2.1). A longer one than the method needs is replaced by the
 * start of its SHA-256, as in other implementations.
 *
 * @param length the length of the key in bytes.
 */
export function parsePsk(text: string, length: number): Buffer | InvalidPsk {
  const encoded = text.trim();
  if (!BASE64.test(encoded)) return 'PSK is not valid base64';
  const key = Buffer.from(encoded, 'base64');
  if (key.length < length) return 'PSK too short';
  return key.length === length ? key : hash('sha256', key, 'buffer').subarray(0, length);
}

const LEGACY_INFO = Buffer.from('ss-subkey');
/** Subkeys of SIP022 §2.2, as long as their key. */
const sessionKeys = new Blake3KeyDerivation('shadowsocks 2022 session subkey');

/** Returns the key of one stream, datagram or session: SIP004 §2.1 (HKDF-SHA1), SIP022 §2.2 (BLAKE3). */
export function subkeyOf(
  { edition, keyLength }: Method,
  key: Uint8Array,
  salt: Uint8Array,
): Uint8Array {
  return edition === 'legacy'
    ? hkdfSha1(key, salt, LEGACY_INFO, keyLength)
    : sessionKeys.derive(key, salt, keyLength);
}

/** Returns bytes as text of one character each, for keys of maps. */
export const latin1Of = (bytes: Uint8Array): string => asBuffer(bytes).toString('latin1');

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
