import { createHmac, hash, timingSafeEqual } from 'node:crypto';

/** Computes SHA-256 in one native call: 32 bytes. */
export const sha256 = (message: Uint8Array): Uint8Array => hash('sha256', message, 'buffer');

/** Computes HMAC-SHA256 (RFC 2104): 32 bytes. */
export const hmacSha256 = (key: Uint8Array, message: Uint8Array): Uint8Array =>
  createHmac('sha256', key).update(message).digest();

/** Whether two byte strings are equal, in constant time for strings of equal length. */
export const equalInConstantTime = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b);
