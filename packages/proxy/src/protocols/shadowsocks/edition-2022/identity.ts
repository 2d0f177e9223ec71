import { createCipheriv, createDecipheriv } from 'node:crypto';
import { blake3 } from '@noble/hashes/blake3.js';
import { Blake3KeyDerivation } from '@weir/crypto/hash/blake3-key';

/** Identity headers (SIP023), by which a server with several users finds the key of a client. */

/** The length in bytes of an identity, and of the header that holds one. */
export const IDENTITY_LENGTH = 16;

const identityKeys = new Blake3KeyDerivation('shadowsocks 2022 identity subkey');

/** AES on single blocks under one key. Blocks are independent, so that one context suffices. */
export class BlockCipher {
  readonly #encrypt;
  readonly #decrypt;

  constructor(key: Uint8Array) {
    const name = `aes-${key.length * 8}-ecb`;
    this.#encrypt = createCipheriv(name, key, null).setAutoPadding(false);
    this.#decrypt = createDecipheriv(name, key, null).setAutoPadding(false);
  }

  /** Encrypts a block of 16 bytes. */
  encrypt(block: Uint8Array): Buffer {
    return this.#encrypt.update(block);
  }

  /** Decrypts a block of 16 bytes. */
  decrypt(block: Uint8Array): Buffer {
    return this.#decrypt.update(block);
  }
}

/** Returns the identity of a key, as the previous key's header contains it. */
export const identityOf = (key: Uint8Array): Buffer =>
  Buffer.from(blake3(key)).subarray(0, IDENTITY_LENGTH);

/** Returns the identity headers of a stream under a chain of keys: one for each key but the last. */
export function identityHeaders(keys: readonly Uint8Array[], salt: Uint8Array): Buffer[] {
  return keys.slice(1).map((next, index) => {
    const key = keys[index] ?? new Uint8Array(0); // each has a previous key
    return streamCipher(key, salt).encrypt(identityOf(next));
  });
}

/** The identity in the header of a stream. */
export const identityIn = (header: Uint8Array, key: Uint8Array, salt: Uint8Array): Buffer =>
  streamCipher(key, salt).decrypt(header);

const streamCipher = (key: Uint8Array, salt: Uint8Array): BlockCipher =>
  new BlockCipher(identityKeys.derive(key, salt, key.length));

/** XORs two blocks: in datagrams an identity is XORed with the separate header before it is encrypted. */
export const xor = (a: Uint8Array, b: Uint8Array): Buffer =>
  Buffer.from(a.map((byte, index) => byte ^ (b[index] ?? 0)));
