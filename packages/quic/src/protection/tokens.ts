import {
  AEAD_SHAPES,
  createOpener,
  createSealer,
  TAG_LENGTH,
  type Opener,
  type Sealer,
} from '@weir/crypto/aead';
import { equalInConstantTime, hmacSha256 } from '@weir/crypto/hash';
import type { RandomSource } from '@weir/base/random';
import { MAX_CONNECTION_ID, RESET_TOKEN_SIZE } from '../wire/packet-header.ts';

/** The contents of a token issued by this process. */
export type TokenClaim =
  | {
      readonly kind: 'retry';
      /** The destination connection id of the client's first Initial packet. */
      readonly originalId: Uint8Array;
      /** The source connection id of the Retry packet, to which the Initial must be sent (RFC 9000 §7.3). */
      readonly retrySourceId: Uint8Array;
    }
  /** A Retry token of another address, or an expired one: close with INVALID_TOKEN (RFC 9000 §8.1.2). */
  | { readonly kind: 'invalid-retry' }
  | { readonly kind: 'new-token' };

/** Milliseconds for which a Retry token is valid. A client returns it within one round trip. */
const RETRY_LIFETIME = 10_000;
/** Milliseconds for which a token from NEW_TOKEN is valid. */
const NEW_TOKEN_LIFETIME = 3_600_000;

const RETRY = 1;
const NEW_TOKEN = 2;

/** The cipher, whose nonce of 24 bytes may be random for any number of tokens. */
const CIPHER = 'xchacha20-poly1305';
const { keyLength: KEY_SIZE, nonceLength: NONCE_SIZE } = AEAD_SHAPES[CIPHER];

/** The shortest token: kind, time, and an IPv4 address with its length and port. */
const SHORTEST = NONCE_SIZE + 1 + 8 + 1 + 4 + 2 + TAG_LENGTH;
/** The longest token: with an IPv6 address and two connection ids. */
const LONGEST = SHORTEST + 12 + 2 * (1 + MAX_CONNECTION_ID);

/**
 * Address validation tokens (RFC 9000 §8.1), encrypted with a random key of this object, and bound to the client's
 * address and to time. A Retry token is valid for one port and 10 seconds, a token from NEW_TOKEN for any port of
 * the address and an hour.
 */
export class AddressTokens implements Disposable {
  readonly #random: RandomSource;
  readonly #sealer: Sealer;
  readonly #opener: Opener;

  constructor(random: RandomSource) {
    const key = random.bytes(KEY_SIZE);
    this.#random = random;
    this.#sealer = createSealer(CIPHER, key);
    this.#opener = createOpener(CIPHER, key);
  }

  /**
   * Returns a token for a Retry packet, of about 100 bytes.
   *
   * @param address 4 or 16 bytes.
   * @param now milliseconds.
   */
  retryToken(
    address: Uint8Array,
    port: number,
    originalId: Uint8Array,
    retrySourceId: Uint8Array,
    now: number,
  ): Uint8Array {
    const ids = [originalId, retrySourceId].flatMap((id) => [Uint8Array.of(id.length), id]);
    return this.#seal(Buffer.concat([claimOf(RETRY, address, port, now), ...ids]));
  }

  /** Returns a token for a NEW_TOKEN frame; each is unique. */
  newToken(address: Uint8Array, now: number): Uint8Array {
    return this.#seal(claimOf(NEW_TOKEN, address, 0, now));
  }

  #seal(claim: Uint8Array): Uint8Array {
    const nonce = this.#random.bytes(NONCE_SIZE);
    const token = new Uint8Array(NONCE_SIZE + claim.length + TAG_LENGTH);
    token.set(nonce);
    this.#sealer.seal(nonce, claim, token.subarray(NONCE_SIZE));
    return token;
  }

  /**
   * Opens the token of `size` bytes at `offset`, sent by a client at this address. `undefined` if it was not issued by
   * this process, or if it is from NEW_TOKEN and expired or for another address: the client is then treated as one
   * without a token (§8.1.3).
   */
  open(
    bytes: Uint8Array,
    offset: number,
    size: number,
    address: Uint8Array,
    port: number,
    now: number,
  ): TokenClaim | undefined {
    if (size < SHORTEST || size > LONGEST) return undefined;
    const nonce = bytes.subarray(offset, offset + NONCE_SIZE);
    const sealed = bytes.subarray(offset + NONCE_SIZE, offset + size);
    const claim = Buffer.alloc(sealed.length - TAG_LENGTH);
    if (!this.#opener.open(nonce, sealed, claim)) return undefined;
    // Authentic contents were written by `claimOf`, so they are well-formed.
    const isRetry = claim[0] === RETRY;
    const age = now - claim.readDoubleBE(1);
    const addressSize = claim[9] as number;
    const portAt = 10 + addressSize;
    const isValid =
      equalInConstantTime(claim.subarray(10, portAt), address) &&
      age >= 0 &&
      age <= (isRetry ? RETRY_LIFETIME : NEW_TOKEN_LIFETIME);
    if (!isRetry) return isValid ? { kind: 'new-token' } : undefined;
    if (!isValid || claim.readUInt16BE(portAt) !== port) return { kind: 'invalid-retry' };
    const originalAt = portAt + 3;
    const originalEnd = originalAt + (claim[originalAt - 1] as number);
    return {
      kind: 'retry',
      originalId: Uint8Array.from(claim.subarray(originalAt, originalEnd)),
      retrySourceId: Uint8Array.from(claim.subarray(originalEnd + 1)),
    };
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
    this.#opener[Symbol.dispose]();
  }
}

/** Encodes kind, time, length of the address, address, and port. */
function claimOf(kind: number, address: Uint8Array, port: number, now: number): Uint8Array {
  const claim = Buffer.alloc(12 + address.length);
  claim[0] = kind;
  claim.writeDoubleBE(now, 1);
  claim[9] = address.length;
  claim.set(address, 10);
  claim.writeUInt16BE(port, 10 + address.length);
  return claim;
}

/** Stateless reset tokens (RFC 9000 §10.3.2): a keyed hash of the connection id. */
export class ResetTokens {
  readonly #key: Uint8Array;

  constructor(random: Pick<RandomSource, 'bytes'>) {
    this.#key = random.bytes(32);
  }

  /**
   * Tokens from a persistent key, with which a restarted server can reset the connections of the former process
   * (§10.3.2).
   *
   * @param key 32 secret bytes, used by no other server at the same time.
   */
  static withKey(key: Uint8Array): ResetTokens {
    return new ResetTokens({ bytes: () => Buffer.from(key) });
  }

  tokenFor(connectionId: Uint8Array): Uint8Array {
    return Uint8Array.from(hmacSha256(this.#key, connectionId).subarray(0, RESET_TOKEN_SIZE));
  }
}

/** The length of the shortest stateless reset: 5 bytes before its token (§10.3). */
export const SHORTEST_RESET = 5 + RESET_TOKEN_SIZE;
