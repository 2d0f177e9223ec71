import { createCipheriv, createDecipheriv, createHash, hash, hkdfSync } from 'node:crypto';
import { blake3 } from '@noble/hashes/blake3.js';
import type { Method } from './methods.ts';

/**
 * The master key of a legacy password: OpenSSL's `EVP_BytesToKey` with MD5, one round and no salt,
 * as every edition before 2022 has it.
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

/** A pre-shared key that is not what its method needs; the text goes to the user. */
export type BadPsk = 'PSK too short' | 'PSK is not valid base64';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * The pre-shared key (SIP022 §2.1) that a text stands for. A longer one than the method takes is
 * replaced by the start of its SHA-256, as other programs do.
 */
export function parsePsk(text: string, length: number): Buffer | BadPsk {
  const encoded = text.trim();
  if (!BASE64.test(encoded)) return 'PSK is not valid base64';
  const key = Buffer.from(encoded, 'base64');
  if (key.length < length) return 'PSK too short';
  return key.length === length ? key : hash('sha256', key, 'buffer').subarray(0, length);
}

const LEGACY_INFO = Buffer.from('ss-subkey');
const SESSION_CONTEXT = Buffer.from('shadowsocks 2022 session subkey');
const IDENTITY_CONTEXT = Buffer.from('shadowsocks 2022 identity subkey');

/** The key of one stream, datagram or session: SIP004 §2.1 (HKDF-SHA1), SIP022 §2.2 (BLAKE3). */
export function subkeyOf(
  { edition, keyLength }: Method,
  key: Uint8Array,
  salt: Uint8Array,
): Uint8Array {
  return edition === 'legacy'
    ? new Uint8Array(hkdfSync('sha1', key, salt, LEGACY_INFO, keyLength))
    : derive(SESSION_CONTEXT, key, salt);
}

/** The key of an identity header in a stream (SIP023). */
export const identitySubkeyOf = (key: Uint8Array, salt: Uint8Array): Uint8Array =>
  derive(IDENTITY_CONTEXT, key, salt);

/** What stands in an identity header for the key after it (SIP023). */
export const identityOf = (key: Uint8Array): Buffer => Buffer.from(blake3(key)).subarray(0, 16);

const derive = (context: Uint8Array, key: Uint8Array, salt: Uint8Array): Uint8Array =>
  blake3(Buffer.concat([key, salt]), { context, dkLen: key.length });

/** AES on single blocks under one key. Blocks are independent, so one object serves for all. */
export class BlockCipher {
  readonly #encrypt;
  readonly #decrypt;

  constructor(key: Uint8Array) {
    const name = `aes-${key.length * 8}-ecb`;
    this.#encrypt = createCipheriv(name, key, null).setAutoPadding(false);
    this.#decrypt = createDecipheriv(name, key, null).setAutoPadding(false);
  }

  /** `block` has 16 bytes. */
  encrypt(block: Uint8Array): Buffer {
    return this.#encrypt.update(block);
  }

  decrypt(block: Uint8Array): Buffer {
    return this.#decrypt.update(block);
  }
}
