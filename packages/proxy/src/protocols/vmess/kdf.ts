import {
  newSha256State,
  SHA256_DIGEST,
  Sha256Chain,
  type Sha256Compression,
  sha256Compression,
  type Sha256State,
} from '@weir/crypto/hash/sha256';

/**
 * The key derivation of VMess AEAD (Xray-core proxy/vmess/aead/kdf.go): HMAC-SHA256 under a fixed
 * key, and then for each part of the path an HMAC whose hash function is the previous HMAC.
 *
 * A new connection needs eight derivations, and a derivation with three parts needs 20 blocks of
 * SHA-256. With hash objects this took two thirds of the time of a connection, so the states after
 * the constant parts are kept, and the rest is computed block by block.
 */

const ROOT = Buffer.from('VMess AEAD KDF');

/** The purpose of each derived key or nonce, which is the first part of its path. */
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

export type Purpose = (typeof Purpose)[keyof typeof Purpose];

/** An HMAC under a key: the initial states of its inner and its outer hash. */
interface Keyed {
  readonly inner: Sha256State;
  readonly outer: Sha256State;
}

const newKeyed = (): Keyed => ({ inner: newSha256State(), outer: newSha256State() });

/** The hash states for the parts of a path after its purpose; valid until the next derivation. */
interface RequestPath {
  /** The HMAC of the first part: the purpose's inner hash, continued with the part's inner and outer key. */
  readonly first: Keyed;
  /** The HMAC of the second part: `first.inner`, continued with the part's inner and outer key. */
  readonly second: Keyed;
}

/** Derives one key at a time, in the memory of this object. */
export class Kdf {
  readonly #chain: Sha256Chain;
  readonly #root: Keyed;
  readonly #purposes = new Map<Purpose, Keyed>();
  readonly #path: RequestPath = { first: newKeyed(), second: newKeyed() };

  constructor(compression: Sha256Compression) {
    this.#chain = new Sha256Chain(compression);
    this.#root = newKeyed();
    this.#key(ROOT, newSha256State(), this.#root);
  }

  /**
   * Derives the first `length` bytes, at most 32, under a path of the purpose alone.
   * @param message the key to derive from, at most 55 bytes.
   */
  derive(purpose: Purpose, message: Uint8Array, length: number): Uint8Array {
    const keyed = this.#purpose(purpose);
    this.#chain.block.set(message);
    this.#hmac(keyed, keyed.inner, message.length);
    return this.#take(length);
  }

  /**
   * Derives the first `length` bytes, at most 32, under a path of three parts.
   * @param message the key to derive from, at most 55 bytes.
   * @param parts at most 64 bytes each.
   */
  deriveBelow(
    purpose: Purpose,
    parts: readonly [Uint8Array, Uint8Array],
    message: Uint8Array,
    length: number,
  ): Uint8Array {
    const keyed = this.#purpose(purpose);
    const { first, second } = this.#path;
    this.#key(parts[0], keyed.inner, first);
    this.#key(parts[1], first.inner, second);
    this.#chain.block.set(message);
    // The inner hash of the second part, which is an HMAC under the first part, then its outer
    // hash.
    this.#hmac(keyed, second.inner, message.length);
    this.#hmac(keyed, first.outer, SHA256_DIGEST);
    this.#hmac(keyed, second.outer, SHA256_DIGEST);
    this.#hmac(keyed, first.outer, SHA256_DIGEST);
    return this.#take(length);
  }

  /** Returns the first `length` bytes of the SHA-256 of at most 55 bytes. */
  hash(message: Uint8Array, length: number): Uint8Array {
    this.#chain.block.set(message);
    this.#chain.finish(START, message.length);
    return this.#take(length);
  }

  /**
   * Completes the HMAC of a purpose from the state `from` of its inner hash; input and output are
   * in the block.
   */
  #hmac({ outer }: Keyed, from: Sha256State, length: number): void {
    this.#rootHmac(from, length);
    this.#rootHmac(outer, SHA256_DIGEST);
  }

  #rootHmac(from: Sha256State, length: number): void {
    this.#chain.finish(from, length);
    this.#chain.finish(this.#root.outer, SHA256_DIGEST);
  }

  #purpose(purpose: Purpose): Keyed {
    let keyed = this.#purposes.get(purpose);
    if (!keyed) {
      keyed = newKeyed();
      this.#key(Buffer.from(purpose), this.#root.inner, keyed);
      this.#purposes.set(purpose, keyed);
    }
    return keyed;
  }

  #key(key: Uint8Array, from: Sha256State, { inner, outer }: Keyed): void {
    this.#chain.takeKey(key, 'inner', from, inner);
    this.#chain.takeKey(key, 'outer', from, outer);
  }

  #take(length: number): Uint8Array {
    return this.#chain.block.slice(0, length);
  }
}

const START = newSha256State();

let shared: Kdf | undefined;

/** Returns the instance shared by this process. */
export const kdf = (): Kdf => (shared ??= new Kdf(sha256Compression()));
