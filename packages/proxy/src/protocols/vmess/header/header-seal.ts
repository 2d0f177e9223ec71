import {
  createOpener,
  createSealer,
  TAG_LENGTH,
  type Opener,
  type Sealer,
} from '@weir/crypto/aead';
import { kdf, Purpose } from '../kdf.ts';
import { KEY_LENGTH, NONCE_LENGTH, SEALED_LENGTH } from '../wire.ts';

/**
 * The keys that seal a header: first its length, then the header, each under a key and a nonce of its own, with
 * AES-128-GCM regardless of the body's cipher (Xray-core proxy/vmess/aead/encrypt.go and
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

/** Returns the keys for the header of a request, derived from the user's key. */
export function requestBox(
  userKey: Uint8Array,
  authId: Uint8Array,
  connectionNonce: Uint8Array,
): HeaderBox {
  const path = [authId, connectionNonce] as const;
  const derive = (purpose: Purpose, length: number): Uint8Array =>
    kdf().deriveBelow(purpose, path, userKey, length);
  return {
    length: {
      key: derive(Purpose.requestLengthKey, KEY_LENGTH),
      nonce: derive(Purpose.requestLengthNonce, NONCE_LENGTH),
      associated: authId,
    },
    header: {
      key: derive(Purpose.requestKey, KEY_LENGTH),
      nonce: derive(Purpose.requestNonce, NONCE_LENGTH),
      associated: authId,
    },
  };
}

/** Returns the keys for the header of a response, derived from those of the response's body. */
export function responseBox(key: Uint8Array, iv: Uint8Array): HeaderBox {
  return {
    length: {
      key: kdf().derive(Purpose.responseLengthKey, key, KEY_LENGTH),
      nonce: kdf().derive(Purpose.responseLengthNonce, iv, NONCE_LENGTH),
      associated: undefined,
    },
    header: {
      key: kdf().derive(Purpose.responseKey, key, KEY_LENGTH),
      nonce: kdf().derive(Purpose.responseNonce, iv, NONCE_LENGTH),
      associated: undefined,
    },
  };
}

/** Seals the length of a header: 18 bytes. */
export function sealLength(box: HeaderBox, length: number): Buffer {
  return seal(box.length, Buffer.of(length >> 8, length & 0xff));
}

/** Seals a header. */
export const sealHeader = (box: HeaderBox, header: Uint8Array): Buffer => seal(box.header, header);

/** Opens a sealed length of 18 bytes; `undefined` when it is not authentic. */
export function openLength(box: HeaderBox, sealed: Uint8Array): number | undefined {
  return open(box.length, sealed.subarray(0, SEALED_LENGTH))?.readUInt16BE();
}

/** Opens a header; `undefined` when it is not authentic. */
export const openHeader = (box: HeaderBox, sealed: Uint8Array): Buffer | undefined =>
  open(box.header, sealed);

/**
 * One sealer and one opener, rekeyed for each header of all connections: creating them for each header took longer than
 * the sealing.
 */
let headerSealer: Sealer | undefined;
let headerOpener: Opener | undefined;

function seal({ key, nonce, associated }: HeaderLock, plain: Uint8Array): Buffer {
  if (headerSealer) headerSealer.rekey(key);
  else headerSealer = createSealer('aes-128-gcm', key);
  const out = Buffer.allocUnsafe(plain.length + TAG_LENGTH);
  headerSealer.seal(nonce, plain, out, associated);
  return out;
}

function open({ key, nonce, associated }: HeaderLock, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < TAG_LENGTH) return undefined;
  if (headerOpener) headerOpener.rekey(key);
  else headerOpener = createOpener('aes-128-gcm', key);
  const out = Buffer.alloc(sealed.length - TAG_LENGTH);
  return headerOpener.open(nonce, sealed, out, associated) ? out : undefined;
}
