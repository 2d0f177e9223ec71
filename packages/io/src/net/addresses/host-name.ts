import { isUtf8 } from 'node:buffer';
import { domainToASCII, domainToUnicode } from 'node:url';
import { formatIP, ipVersion, parseIP, parseIPv6, unmapIPv4 } from './address.ts';

/** Letters, digits, hyphens and underscores: names that are resolved unchanged. */
const PLAIN = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
/** The input of domainToASCII, which would end at `/` and decode `%41` as in a URL. */
const CONVERTIBLE = /^[a-z0-9._\u0080-\u{10ffff}-]+$/u;
/** A last label that C libraries parse as part of an IPv4 address (`127.1`, `0x7f000001`). */
const NUMERIC_END = /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/;

/** The longest name in text without its final dot (RFC 1035 §2.3.4). */
const MAX_NAME_LENGTH = 253;

/**
 * Returns the canonical form of a host: rules match it, and it is resolved, dialled and sent to other proxies.
 *
 * A name becomes lower case, ASCII (UTS 46) and loses its final dot; text that resolvers parse as an address (`127.1`,
 * `0x7f.1`, fullwidth digits) becomes that address; an address gets its canonical form, with a zone only if the zone is
 * significant. `undefined` for any other text.
 */
export function normalizeHost(host: string): string | undefined {
  if (host.length <= MAX_NAME_LENGTH && PLAIN.test(host) && !NUMERIC_END.test(host)) return host;
  if (host.length > 4 * MAX_NAME_LENGTH) return undefined;
  const version = ipVersion(host);
  if (version !== 0) return version === 4 ? host : normalizeAddress(host);
  const lower = host.toLowerCase();
  const bare = withoutFinalDot(lower);
  if (isName(bare)) return bare;
  if (!CONVERTIBLE.test(lower)) return undefined;
  const name = withoutFinalDot(domainToASCII(lower));
  return ipVersion(name) === 4 || isName(name) ? name : undefined;
}

const isName = (name: string): boolean =>
  name.length <= MAX_NAME_LENGTH && PLAIN.test(name) && !NUMERIC_END.test(name);

const withoutFinalDot = (name: string): string => (name.endsWith('.') ? name.slice(0, -1) : name);

/**
 * Returns the canonical form of an IPv6 address; an IPv4 address has only one.
 *
 * `::ffff:192.0.2.1%1` reaches 192.0.2.1, so only link-local and multicast addresses keep their zone
 * (RFC 4007 §6).
 */
function normalizeAddress(host: string): string | undefined {
  const zone = host.indexOf('%');
  const bytes = parseIPv6(zone < 0 ? host : host.slice(0, zone));
  if (!bytes) return undefined;
  const text = unmapIPv4(formatIP(bytes));
  const [first = 0, second = 0] = bytes;
  const scoped = (first === 0xfe && second >> 6 === 2) || first === 0xff;
  return zone >= 0 && scoped ? text + host.slice(zone) : text;
}

/**
 * Returns the canonical form of a domain name, as `normalizeHost` returns it. `undefined` for other text, including
 * text that resolvers read as an address (`127.1`).
 */
export function normalizeDomain(host: string): string | undefined {
  const name = normalizeHost(host);
  return name === undefined || ipVersion(name) !== 0 ? undefined : name;
}

/** Whether a name is `localhost` or below it: this machine, without a DNS query (RFC 6761 §6.3). */
export const isLocalhost = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost');

/** Returns the Unicode form of a name in ASCII (UTS 46); empty when it cannot be decoded. */
export const unicodeName = (name: string): string => domainToUnicode(name);

// Characters that would be unsafe in a log line or in the request line of an HTTP proxy.
const NOT_IN_NAMES = /[\p{Cc}\p{Z}]/u;

/**
 * Decodes the bytes of a domain name; an IP address in text becomes that address. `undefined` when
 * the name is empty, not UTF-8, or contains control or space characters.
 */
export function decodeName(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0 || !isUtf8(bytes)) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  if (NOT_IN_NAMES.test(text)) return undefined;
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const ip = ipVersion(bare) === 0 ? undefined : parseIP(bare);
  return ip ? unmapIPv4(formatIP(ip)) : text;
}
