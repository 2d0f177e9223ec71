import type { RandomSource } from '../../crypto/random-source.ts';

/** What a valid token says. */
export type TokenClaim =
  | {
      readonly kind: 'retry';
      /** The destination connection id of the client's first Initial packet. */
      readonly originalId: Uint8Array;
      /** The id that the Retry packet gave: the Initial has to be sent to it (RFC 9000 §7.3). */
      readonly retrySourceId: Uint8Array;
    }
  | { readonly kind: 'new-token' };

/**
 * Address validation tokens (RFC 9000 §8.1), encrypted with a key that lives as long as this object
 * and bound to the client's address and to time. A Retry token holds for one port and 10 seconds; one of
 * NEW_TOKEN for the address from any port and for a day.
 */
export declare class AddressTokens {
  constructor(random: RandomSource);
  /**
   * @param address 4 or 16 bytes.
   * @param now milliseconds.
   */
  retryToken(
    address: Uint8Array,
    port: number,
    originalId: Uint8Array,
    retrySourceId: Uint8Array,
    now: number,
  ): Uint8Array;
  newToken(address: Uint8Array, now: number): Uint8Array;
  /**
   * What the token in the bytes from `offset` on claims; undefined when it is not from here, for
   * another address, or too old. `'retry'` claims that are invalid look like unknown tokens: see
   * `looksLikeRetry`.
   */
  open(
    bytes: Uint8Array,
    offset: number,
    size: number,
    address: Uint8Array,
    port: number,
    now: number,
  ): TokenClaim | undefined;
  /**
   * Whether a token that `open` has rejected was made as a Retry token: an Initial with it is closed
   * with INVALID_TOKEN, one with another unknown token is treated as if it had none (§8.1.3).
   */
  looksLikeRetry(bytes: Uint8Array, offset: number, size: number): boolean;
}

/** Bytes of a stateless reset token. */
export const RESET_TOKEN_SIZE = 16;

/** Stateless reset tokens (RFC 9000 §10.3.2): a keyed hash of the connection id. */
export declare class ResetTokens {
  constructor(random: RandomSource);
  tokenFor(connectionId: Uint8Array): Uint8Array;
}

/** Whether a datagram ends with a stateless reset token; takes the same time for all (§10.3.1). */
export declare function endsWithResetToken(
  bytes: Uint8Array,
  start: number,
  end: number,
  token: Uint8Array,
): boolean;
