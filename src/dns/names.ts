import { domainToASCII } from 'node:url';

/** Letters, digits, hyphens and underscores: what is asked of servers as it stands. */
const PLAIN = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
/** The same with letters of other scripts, not yet in their ASCII form. */
const INTERNATIONAL = /^[A-Za-z0-9._\u0080-\u{10ffff}-]+$/u;
/** A last label that C libraries read as part of an IPv4 address (`127.1`, `0x7f000001`). */
const NUMERIC_END = /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/;

/** The longest name in text without its final dot (RFC 1035 §2.3.4). */
const MAX_NAME_LENGTH = 253;

/**
 * The form of a host name in which it is asked and cached: lower case, ASCII, no final dot.
 *
 * `undefined` for what cannot be a host name, names whose last label is a number among it: the C
 * library would take `127.1` for an address that no rule has seen.
 */
export function canonicalName(host: string): string | undefined {
  if (host.length > 4 * MAX_NAME_LENGTH) return undefined;
  let name = host.toLowerCase();
  if (name.endsWith('.')) name = name.slice(0, -1);
  // Only such text may be given to domainToASCII, which would cut at `/` and drop tabs as in a URL.
  if (!PLAIN.test(name) && INTERNATIONAL.test(name)) name = domainToASCII(name);
  const valid = name.length <= MAX_NAME_LENGTH && PLAIN.test(name) && !NUMERIC_END.test(name);
  return valid ? name : undefined;
}

/** `localhost` and everything below it is this machine, without a question (RFC 6761 §6.3). */
export const isLocalhost = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost');
