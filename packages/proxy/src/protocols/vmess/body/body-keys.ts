import { hash } from 'node:crypto';
import type { AeadName } from '@weir/crypto/aead';
import { kdf, Purpose } from '../kdf.ts';
import { KEY_LENGTH, Option, Security } from '../wire.ts';

/** The keys and the format of one direction of a body. */
export interface BodyKeys {
  readonly cipher: AeadName;
  readonly key: Uint8Array;
  readonly iv: Uint8Array;
  readonly masking: boolean;
  readonly padding: boolean;
  /** Key and IV for the lengths of chunks; `undefined` when these are not sealed. */
  readonly lengths: { readonly key: Uint8Array; readonly iv: Uint8Array } | undefined;
  /** Whether an empty chunk ends the body; otherwise only the end of the carrier does. */
  readonly terminated: boolean;
}

/** The fields of a request that determine the bodies of both directions. */
export interface BodyTerms {
  readonly iv: Uint8Array;
  readonly key: Uint8Array;
  readonly options: number;
  readonly security: Security;
}

/** Returns the keys of the client's direction. */
export function requestKeys({ iv, key, options, security }: BodyTerms): BodyKeys {
  const has = (option: number): boolean => (options & option) !== 0;
  // Both directions seal their lengths under the client's key and IV, as in Xray; that exposes
  // nothing but lengths.
  const lengths = has(Option.authenticatedLength)
    ? { key: cipherKey(security, kdf().derive(Purpose.chunkLength, key, KEY_LENGTH)), iv }
    : undefined;
  return {
    cipher: security === Security.aes128Gcm ? 'aes-128-gcm' : 'chacha20-poly1305',
    key: cipherKey(security, key),
    iv,
    masking: has(Option.masking),
    padding: has(Option.padding),
    lengths,
    terminated: has(Option.chunkStream),
  };
}

/** Key and IV of the server's direction, before the key is extended for the cipher. */
export interface ResponseSecrets {
  readonly key: Uint8Array;
  readonly iv: Uint8Array;
}

export const responseSecrets = ({ iv, key }: Pick<BodyTerms, 'iv' | 'key'>): ResponseSecrets => ({
  key: kdf().hash(key, KEY_LENGTH),
  iv: kdf().hash(iv, KEY_LENGTH),
});

/** Returns the keys of the server's direction. */
export function responseKeys(terms: BodyTerms, { key, iv } = responseSecrets(terms)): BodyKeys {
  return { ...requestKeys(terms), key: cipherKey(terms.security, key), iv };
}

/** Extends a key to the 32 bytes of ChaCha20: MD5 of the key, then MD5 of the result. */
function cipherKey(security: Security, key: Uint8Array): Uint8Array {
  if (security === Security.aes128Gcm) return key;
  const first = md5(key);
  return Buffer.concat([first, md5(first)]);
}

const md5 = (bytes: Uint8Array): Buffer => hash('md5', bytes, 'buffer');

/**
 * The nonces of one direction: the number of the chunk in 16 bits, then bytes 2 to 11 of the IV.
 *
 * The number wraps after 65,536 chunks, as in every implementation: ending there would abort every
 * long stream.
 */
export class ChunkNonce {
  readonly #bytes: Uint8Array;
  #count = 0;

  constructor(iv: Uint8Array) {
    this.#bytes = new Uint8Array(iv.subarray(0, 12));
  }

  /** Returns the next nonce, valid until the next call. */
  next(): Uint8Array {
    this.#bytes[0] = this.#count >> 8;
    this.#bytes[1] = this.#count & 0xff;
    this.#count = (this.#count + 1) & 0xffff;
    return this.#bytes;
  }
}
