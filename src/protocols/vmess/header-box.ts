import { createOpener, createSealer, TAG_LENGTH } from '../../crypto/aead.ts';
import { kdf12, kdf16, Purpose } from './kdf.ts';
import { SEALED_LENGTH } from './wire.ts';

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

/** For the header of an answer: its keys come from those of the answer's body. */
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
