import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  createOpener,
  createSealer,
  type Opener,
  type Sealer,
  TAG_LENGTH,
} from '@weir/crypto/aead';
import { uuidBytes } from '../../users/uuid.ts';
import { kdf, Purpose } from '../kdf.ts';
import { AUTH_ID_LENGTH, KEY_LENGTH, NONCE_LENGTH, SEALED_LENGTH } from '../wire.ts';

const SALT = 'c48619fe-8f02-49e0-b9e9-edf763e17e21';

/** Returns the 16-byte key that is derived from an account's UUID, as `parseUuid` returns it. */
export const userKey = (uuid: string): Buffer =>
  createHash('md5').update(uuidBytes(uuid)).update(SALT).digest();

/**
 * The 16 bytes at the start of a request (Xray-core proxy/vmess/aead/authid.go): Unix seconds in 64
 * bits, 4 random bytes and the CRC-32 of these, encrypted as one AES block under a key of the user.
 */

const RANDOM_AT = 8;
const SUM_AT = 12;

/** Random bytes in an auth id. */
export const AUTH_ID_RANDOM = SUM_AT - RANDOM_AT;

const authIdKey = (userKey: Uint8Array): Uint8Array =>
  kdf().derive(Purpose.authId, userKey, KEY_LENGTH);

/** Encrypts auth ids of one user. */
export class AuthIdMaker {
  readonly #cipher;
  readonly #plain = Buffer.alloc(AUTH_ID_LENGTH);

  constructor(userKey: Uint8Array) {
    // One context suffices: blocks of ECB do not depend on each other.
    this.#cipher = createCipheriv('aes-128-ecb', authIdKey(userKey), null);
    this.#cipher.setAutoPadding(false);
  }

  /** Encrypts an auth id. `seconds` are Unix time, `random` is 4 bytes. */
  make(seconds: number, random: Uint8Array): Buffer {
    const plain = this.#plain;
    plain.writeBigInt64BE(BigInt(seconds));
    plain.set(random.subarray(0, AUTH_ID_RANDOM), RANDOM_AT);
    plain.writeUInt32BE(crc32(plain.subarray(0, SUM_AT)), SUM_AT);
    return this.#cipher.update(plain);
  }
}

/** Decrypts auth ids with the key of one user. */
export class AuthIdReader {
  readonly #decipher;

  constructor(key: Uint8Array) {
    // Blocks of ECB do not depend on each other, so that one context suffices.
    this.#decipher = createDecipheriv('aes-128-ecb', authIdKey(key), null);
    this.#decipher.setAutoPadding(false);
  }

  /** Returns the Unix seconds in an auth id; `undefined` for one of another user. */
  read(authId: Uint8Array): bigint | undefined {
    const plain = this.#decipher.update(authId);
    if (crc32(plain.subarray(0, SUM_AT)) !== plain.readUInt32BE(SUM_AT)) return undefined;
    return plain.readBigInt64BE();
  }
}

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
