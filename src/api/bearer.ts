import { hash, timingSafeEqual } from 'node:crypto';

/** Anything but visible ASCII, space and tab. */
const FOREIGN = /[^\t\x20-\x7e]/;
const SCHEME = 'bearer';

/** Says whether an `Authorization` header carries the secret. */
export type BearerCheck = (authorization: string | undefined) => boolean;

/**
 * A check for `secret` (RFC 6750 §2.1, with the scheme in any letter case). Digests are compared, in
 * constant time, so the time taken tells nothing of the secret or of how close a guess came.
 */
export function bearerCheck(secret: string): BearerCheck {
  const wanted = digest(secret);
  return (authorization) => {
    const token = tokenOf(authorization);
    return token !== undefined && timingSafeEqual(digest(token), wanted);
  };
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

function tokenOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined || FOREIGN.test(authorization)) return undefined;
  const space = authorization.indexOf(' ');
  if (space < 0 || authorization.slice(0, space).toLowerCase() !== SCHEME) return undefined;
  return authorization.slice(space).trim();
}
