import { randomBytes } from 'node:crypto';
import { equalInConstantTime, sha256 } from '@weir/crypto/hash';

/** Bytes of a token. */
const TOKEN_BYTES = 32;

/** A new random token, for URLs and cookies. */
export const newToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url');

const digestOf = (text: string): Uint8Array => sha256(Buffer.from(text));

/**
 * Creates a check for a secret in constant time. It compares digests, so that the time reveals nothing about the secret
 * or a guess, their length included, and does not keep the secret.
 */
export function secretCheck(secret: string): (given: string) => boolean {
  const wanted = digestOf(secret);
  return (given) => equalInConstantTime(digestOf(given), wanted);
}

/** The token of an `Authorization` header with a bearer token (RFC 6750 §2.1), the scheme in any letter case. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const space = authorization?.indexOf(' ') ?? -1;
  if (authorization === undefined || space < 0) return undefined;
  if (authorization.slice(0, space).toLowerCase() !== 'bearer') return undefined;
  return authorization.slice(space).trim();
}
