import { createHmac } from 'node:crypto';

/**
 * The key derivation of VMess AEAD (Xray-core proxy/vmess/aead/kdf.go): HMAC-SHA256 under a fixed
 * key, and then for each part of the path an HMAC whose hash function is the HMAC before it.
 */

const ROOT = 'VMess AEAD KDF';

/** What each derived key or nonce is for: the first part of its path. */
export const Purpose = {
  authId: 'AES Auth ID Encryption',
  requestLengthKey: 'VMess Header AEAD Key_Length',
  requestLengthNonce: 'VMess Header AEAD Nonce_Length',
  requestKey: 'VMess Header AEAD Key',
  requestNonce: 'VMess Header AEAD Nonce',
  responseLengthKey: 'AEAD Resp Header Len Key',
  responseLengthNonce: 'AEAD Resp Header Len IV',
  responseKey: 'AEAD Resp Header Key',
  responseNonce: 'AEAD Resp Header IV',
  chunkLength: 'auth_len',
} as const;

type PathPart = string | Uint8Array;

/** SHA-256 works on blocks of 64 bytes, and so does every HMAC above it (RFC 2104 §2). */
const BLOCK = 64;

/** Derives 32 bytes. No part of the path has more than 64 bytes. */
export function kdf(key: Uint8Array, ...path: readonly PathPart[]): Buffer {
  return nested(key, path.map(pads));
}

/** Derives a key of 16 bytes. */
export const kdf16 = (key: Uint8Array, ...path: readonly PathPart[]): Buffer =>
  kdf(key, ...path).subarray(0, 16);

/** Derives a nonce of 12 bytes. */
export const kdf12 = (key: Uint8Array, ...path: readonly PathPart[]): Buffer =>
  kdf(key, ...path).subarray(0, 12);

interface Pads {
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
}

/** The two pads of an HMAC key (RFC 2104 §2). */
function pads(part: PathPart): Pads {
  const key = typeof part === 'string' ? Buffer.from(part) : part;
  if (key.length > BLOCK) throw new RangeError('a part of a path has at most 64 bytes');
  const pad = (value: number): Uint8Array => {
    const block = new Uint8Array(BLOCK).fill(value);
    key.forEach((byte, index) => (block[index] = byte ^ value));
    return block;
  };
  return { inner: pad(0x36), outer: pad(0x5c) };
}

function nested(message: Uint8Array, path: readonly Pads[]): Buffer {
  const last = path.at(-1);
  if (!last) return createHmac('sha256', ROOT).update(message).digest();
  const below = path.slice(0, -1);
  const inner = nested(Buffer.concat([last.inner, message]), below);
  return nested(Buffer.concat([last.outer, inner]), below);
}
