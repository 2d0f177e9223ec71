import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/** Computes SHA-256 in one native call: 32 bytes. */
export const sha256 = (message: Uint8Array): Uint8Array => hash('sha256', message, 'buffer');

/** Computes HMAC-SHA256 (RFC 2104): 32 bytes. */
export const hmacSha256 = (key: Uint8Array, message: Uint8Array): Uint8Array =>
  createHmac('sha256', key).update(message).digest();

/** Whether two byte strings are equal, in constant time for strings of equal length. */
export const equalInConstantTime = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b);

/** Hash functions of the cipher suites of TLS 1.3. */
export type HkdfHash = 'sha256' | 'sha384';

/** Computes HKDF-Extract (RFC 5869 §2.2). */
export const hkdfExtract = (hash: HkdfHash, salt: Uint8Array, material: Uint8Array): Uint8Array =>
  createHmac(hash, salt).update(material).digest();

/**
 * Computes HKDF-Expand-Label of TLS 1.3 with an empty context (RFC 8446 §7.1).
 * @param label ASCII, without the prefix `tls13 `.
 * @param length length of the result in bytes, at most 255 times that of the hash.
 */
export function hkdfExpandLabel(
  hash: HkdfHash,
  secret: Uint8Array,
  label: string,
  length: number,
): Uint8Array {
  const name = Buffer.from(`tls13 ${label}`, 'latin1');
  const info = Buffer.concat([Uint8Array.of(length >> 8, length, name.length), name, ZERO]);
  const out = new Uint8Array(length);
  let block: Uint8Array = new Uint8Array(0);
  for (let at = 0, counter = 1; at < length; at += block.length, counter++) {
    block = createHmac(hash, secret)
      .update(block)
      .update(info)
      .update(Uint8Array.of(counter))
      .digest();
    out.set(block.subarray(0, length - at), at);
  }
  return out;
}

const ZERO = new Uint8Array(1);
