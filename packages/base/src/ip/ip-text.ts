import { ipVersion } from './ip-version.ts';

/** The 12 bytes before an IPv4 address in IPv6 form (RFC 4291 §2.5.5.2). */
const MAPPED_PREFIX = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);

const MAPPED_TEXT = '::ffff:';

/**
 * Returns the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2); other texts are returned unchanged.
 *
 * Dual-stack listeners report IPv4 clients in mapped form; rules, replies and the API use the IPv4
 * address.
 */
export function unmapIPv4(host: string): string {
  if (!host.startsWith(MAPPED_TEXT)) return host;
  const tail = host.slice(MAPPED_TEXT.length);
  return ipVersion(tail) === 4 ? tail : host;
}

/** Parses a dotted quad into 4 bytes; `undefined` for other text. */
function parseIPv4(text: string): Uint8Array | undefined {
  if (ipVersion(text) !== 4) return undefined;
  const bytes = new Uint8Array(4);
  putIPv4(text, bytes, 0);
  return bytes;
}

/** Parses an IPv6 address, an embedded dotted quad included, into 16 bytes. Zone ids are rejected. */
export function parseIPv6(text: string): Uint8Array | undefined {
  if (ipVersion(text) !== 6 || text.includes('%')) return undefined;
  const bytes = new Uint8Array(16);
  putIPv6(text, bytes, 0);
  return bytes;
}

/** Returns the 4 or 16 bytes of an IP address; `undefined` for a domain name. */
export const parseIP = (text: string): Uint8Array | undefined =>
  text.includes(':') ? parseIPv6(text) : parseIPv4(text);

/** Returns the text of 4 or 16 address bytes; IPv6 in the form of RFC 5952, mapped IPv4 with dots (§5). */
export function formatIP(bytes: Uint8Array): string {
  if (bytes.length === 4) return formatIPv4(bytes, 0);
  return isMappedIPv4(bytes, 0) ? MAPPED_TEXT + formatIPv4(bytes, 12) : formatIPv6(bytes, 0);
}

/** Writes the 4 bytes of an IPv4 address. `text` must have been recognised as one. */
export function putIPv4(text: string, out: Uint8Array, at: number): void {
  let value = 0;
  let index = at;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x2e) {
      out[index++] = value;
      value = 0;
    } else value = value * 10 + code - 0x30;
  }
  out[index] = value;
}

/** Writes an IPv4 address as an IPv4-mapped IPv6 address. */
export function putMappedIPv4(text: string, out: Uint8Array, at: number): void {
  out.set(MAPPED_PREFIX, at);
  putIPv4(text, out, at + 12);
}

/** Writes the 16 bytes of an IPv6 address without a zone. `text` must have been recognised as one. */
export function putIPv6(text: string, out: Uint8Array, at: number): void {
  out.fill(0, at, at + 16);
  const gap = text.indexOf('::');
  if (gap < 0) {
    putGroups(text, out, at);
    return;
  }
  putGroups(text.slice(0, gap), out, at);
  const tail = text.slice(gap + 2);
  putGroups(tail, out, at + 16 - groupBytes(tail));
}

function groupBytes(text: string): number {
  if (text === '') return 0;
  const groups = text.split(':');
  return groups.length * 2 + (groups.at(-1)?.includes('.') ? 2 : 0);
}

function putGroups(text: string, out: Uint8Array, at: number): void {
  if (text === '') return;
  let index = at;
  for (const group of text.split(':')) {
    if (group.includes('.')) {
      putIPv4(group, out, index);
      return;
    }
    const value = Number.parseInt(group, 16);
    out[index++] = value >> 8;
    out[index++] = value & 0xff;
  }
}

export const formatIPv4 = (bytes: Uint8Array, at: number): string =>
  `${bytes[at] ?? 0}.${bytes[at + 1] ?? 0}.${bytes[at + 2] ?? 0}.${bytes[at + 3] ?? 0}`;

/** Whether 16 bytes are an IPv4-mapped address. */
export function isMappedIPv4(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < 10; i++) if (bytes[at + i] !== 0) return false;
  return bytes[at + 10] === 0xff && bytes[at + 11] === 0xff;
}

/** Returns the text of 16 address bytes in the form of RFC 5952, in hexadecimal groups throughout. */
export function formatIPv6(bytes: Uint8Array, at: number): string {
  const group = (index: number): number =>
    ((bytes[at + index * 2] ?? 0) << 8) | (bytes[at + index * 2 + 1] ?? 0);
  // RFC 5952 §4.2: the longest run of at least two zero groups is shortened, the first of equals.
  let [start, length] = [-1, 1];
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && group(end) === 0) end++;
    if (end - i > length) [start, length] = [i, end - i];
    if (end > i) i = end;
  }
  let text = '';
  for (let i = 0; i < 8; i++) {
    if (i === start) {
      text += '::';
      i += length - 1;
    } else text += (text === '' || text.endsWith(':') ? '' : ':') + group(i).toString(16);
  }
  return text;
}

/** Returns an address without its zone, and the zone: `fe80::1%eth0` is `fe80::1` and `eth0`. */
export function splitZone(host: string): { readonly address: string; readonly zone: string } {
  const percent = host.indexOf('%');
  return percent < 0
    ? { address: host, zone: '' }
    : { address: host.slice(0, percent), zone: host.slice(percent + 1) };
}

/** Whether an address or a name, bare or as in a URL, refers to this host. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name === '[::1]' || name === '::1') return true;
  return name.startsWith('127.') && ipVersion(name) === 4;
}
