import { isUtf8 } from 'node:buffer';
import { formatIP, ipVersion, parseIP, unmapIPv4 } from './address.ts';

// Nothing that a resolver, a log line or the request line of an HTTP proxy could trip over.
const NOT_IN_NAMES = /[\p{Cc}\p{Z}]/u;

/**
 * The host that the bytes of a domain name mean: an IP address written as a name is that address;
 * `undefined` when the name is empty, not UTF-8, or has control characters or blanks in it.
 */
export function decodeName(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0 || !isUtf8(bytes)) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  if (NOT_IN_NAMES.test(text)) return undefined;
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const ip = ipVersion(bare) === 0 ? undefined : parseIP(bare);
  return ip ? unmapIPv4(formatIP(ip)) : text;
}
