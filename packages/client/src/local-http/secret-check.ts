import { randomBytes } from 'node:crypto';
import { equalInConstantTime, sha256 } from '@weir/crypto/hash';

/** Bytes of a token. */
const TOKEN_BYTES = 32;

/** A new random token, for URLs and cookies. */
export const newToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url');

const digestOf = (text: string): Uint8Array => sha256(Buffer.from(text));

/** Creates a check for a secret in constant time. It compares digests, and does not keep the secret. */
export function secretCheck(secret: string): (given: string) => boolean {
  const wanted = digestOf(secret);
  return (given) => equalInConstantTime(digestOf(given), wanted);
}
