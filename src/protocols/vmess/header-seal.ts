import { createHmac } from 'node:crypto';
import { createOpener, createSealer, TAG_LENGTH } from '../../crypto/aead.ts';
import { SEALED_LENGTH } from './wire.ts';

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

/**
 * How headers are sealed, with AES-128-GCM whatever the body uses: their length and then themselves,
 * each under a key and a nonce of its own (Xray-core proxy/vmess/aead/encrypt.go and
 * proxy/vmess/encoding/server.go).
 */
export interface HeaderBox {
  readonly length: HeaderLock;
  readonly header: HeaderLock;
}

interface HeaderLock {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  readonly associated: Uint8Array | undefined;
}

/** For the header of a request: its keys come from the user's. */
export function requestBox(
  userKey: Uint8Array,
  authId: Uint8Array,
  connectionNonce: Uint8Array,
): HeaderBox {
  const path = [authId, connectionNonce] as const;
  return {
    length: {
      key: kdf16(userKey, Purpose.requestLengthKey, ...path),
      nonce: kdf12(userKey, Purpose.requestLengthNonce, ...path),
      associated: authId,
    },
    header: {
      key: kdf16(userKey, Purpose.requestKey, ...path),
      nonce: kdf12(userKey, Purpose.requestNonce, ...path),
      associated: authId,
    },
  };
}

/** For the header of a response: its keys come from those of the response's body. */
export function responseBox(key: Uint8Array, iv: Uint8Array): HeaderBox {
  return {
    length: {
      key: kdf16(key, Purpose.responseLengthKey),
      nonce: kdf12(iv, Purpose.responseLengthNonce),
      associated: undefined,
    },
    header: {
      key: kdf16(key, Purpose.responseKey),
      nonce: kdf12(iv, Purpose.responseNonce),
      associated: undefined,
    },
  };
}

/** The length of a header, sealed: 18 bytes. */
export function sealLength(box: HeaderBox, length: number): Buffer {
  return seal(box.length, Buffer.of(length >> 8, length & 0xff));
}

/** A header, sealed. */
export const sealHeader = (box: HeaderBox, header: Uint8Array): Buffer => seal(box.header, header);

/** The length that 18 bytes stand for; `undefined` when they are not authentic. */
export function openLength(box: HeaderBox, sealed: Uint8Array): number | undefined {
  return open(box.length, sealed.subarray(0, SEALED_LENGTH))?.readUInt16BE();
}

/** The header inside; `undefined` when it is not authentic. */
export const openHeader = (box: HeaderBox, sealed: Uint8Array): Buffer | undefined =>
  open(box.header, sealed);

function seal({ key, nonce, associated }: HeaderLock, plain: Uint8Array): Buffer {
  using sealer = createSealer('aes-128-gcm', key);
  const out = Buffer.alloc(plain.length + TAG_LENGTH);
  sealer.seal(nonce, plain, out, associated);
  return out;
}

function open({ key, nonce, associated }: HeaderLock, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < TAG_LENGTH) return undefined;
  using opener = createOpener('aes-128-gcm', key);
  const out = Buffer.alloc(sealed.length - TAG_LENGTH);
  return opener.open(nonce, sealed, out, associated) ? out : undefined;
}
