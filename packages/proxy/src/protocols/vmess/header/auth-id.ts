import { createHash, createCipheriv, createDecipheriv } from 'node:crypto';
import { uuidBytes } from '../../users/uuid.ts';
import { crc32 } from 'node:zlib';
import { kdf, Purpose } from '../kdf.ts';
import { AUTH_ID_LENGTH, KEY_LENGTH } from '../wire.ts';

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
