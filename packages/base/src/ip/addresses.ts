/** Zone ids as in `fe80::1%eth0`, in the characters that Node accepts. */
const ZONE = /^[0-9a-zA-Z.:-]+$/;

const GROUPS = 8;

/**
 * Returns 4 or 6 for an IP address in text, 0 for anything else. Zone ids (`fe80::1%eth0`) count as 6.
 *
 * Returns what `isIP` of node:net does, whose regular expressions take 10 ms to compile, a quarter of the start
 * of Node.
 */
export function ipVersion(host: string): 0 | 4 | 6 {
  if (isIPv4(host, 0, host.length)) return 4;
  const percent = host.indexOf('%');
  if (percent < 0) return isIPv6(host, host.length) ? 6 : 0;
  return isIPv6(host, percent) && ZONE.test(host.slice(percent + 1)) ? 6 : 0;
}

/** Whether a part of a text is a dotted quad, whose numbers have no leading zeros. */
function isIPv4(text: string, from: number, to: number): boolean {
  if (to - from < 7 || to - from > 15) return false;
  let numbers = 0;
  let digits = 0;
  let value = 0;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x2e) {
      if (digits === 0 || ++numbers === 4) return false;
      digits = 0;
      value = 0;
    } else {
      if (code < 0x30 || code > 0x39 || (digits > 0 && value === 0)) return false;
      value = value * 10 + code - 0x30;
      digits++;
      if (value > 255) return false;
    }
  }
  return numbers === 3 && digits > 0;
}

/** Whether the start of a text, up to `to`, is an IPv6 address without a zone. */
function isIPv6(text: string, to: number): boolean {
  if (to < 2 || to > 45) return false;
  let groups = 0;
  let hasGap = false;
  let i = 0;
  if (text.charCodeAt(0) === COLON) {
    if (text.charCodeAt(1) !== COLON) return false;
    hasGap = true;
    i = 2;
  }
  while (i < to) {
    const end = i + hexDigits(text, i, to);
    if (end < to && text.charCodeAt(end) === DOT) {
      groups += 2;
      return isIPv4(text, i, to) && (hasGap ? groups < GROUPS : groups === GROUPS);
    }
    if (end === i || end - i > 4) return false;
    groups++;
    if (end === to) return hasGap ? groups < GROUPS : groups === GROUPS;
    if (text.charCodeAt(end) !== COLON) return false;
    i = end + 1;
    if (i < to && text.charCodeAt(i) === COLON) {
      if (hasGap) return false;
      hasGap = true;
      i++;
    } else if (i === to) return false;
  }
  // The address ends with the gap.
  return groups < GROUPS;
}

const COLON = 0x3a;
const DOT = 0x2e;

function hexDigits(text: string, from: number, to: number): number {
  let i = from;
  while (i < to && isHexDigit(text.charCodeAt(i))) i++;
  return i - from;
}

const isHexDigit = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) ||
  (code >= 0x41 && code <= 0x46) ||
  (code >= 0x61 && code <= 0x66);

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

/** An IP address and a prefix length. */
export interface Cidr {
  /** The address in canonical text, without a zone. */
  readonly address: string;
  /** The prefix length in bits. */
  readonly prefix: number;
}

/** The reason why a text is not a network, as Rust's cidr crate words it. */
export interface CidrProblem {
  readonly problem: string;
}

/** Formats a network: `10.0.0.0/8`. */
export const formatCidr = ({ address, prefix }: Cidr): string => `${address}/${prefix}`;

/**
 * Parses a network: `<address>/<prefix length>`, or an address alone for one host. Strict: no
 * leading zeros, zone ids, brackets or spaces, and no host bits.
 */
export function parseCidr(text: string): Cidr | CidrProblem {
  const parsed = parseInterfaceAddress(text);
  if ('problem' in parsed) return parsed;
  const bytes = parseIP(parsed.address);
  if (bytes && hasHostBits(bytes, parsed.prefix)) {
    return { problem: 'host part of address was not zero' };
  }
  return parsed;
}

/** Parses the address of an interface: as `parseCidr` does, but host bits may be set. */
export function parseInterfaceAddress(text: string): Cidr | CidrProblem {
  const slash = text.lastIndexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const bytes = parseIP(address);
  if (!bytes) {
    return { problem: "couldn't parse address in network: invalid IP address syntax" };
  }
  const width = bytes.length * 8;
  const prefix = slash < 0 ? width : parsePrefix(text.slice(slash + 1));
  if (typeof prefix === 'string') {
    return { problem: `couldn't parse length in network: ${prefix}` };
  }
  if (prefix > width) {
    const family = width === 32 ? 'Ipv4' : 'Ipv6';
    const reason = `Network length ${prefix} is too long for ${family} (maximum: ${width})`;
    return { problem: `invalid length for network: ${reason}` };
  }
  return { address: formatIP(bytes), prefix };
}

/** Parses a prefix length of at most one byte; returns the error as text. */
function parsePrefix(text: string): number | string {
  if (text === '') return 'cannot parse integer from empty string';
  if (!/^(?:0|[1-9]\d*)$/.test(text)) return 'invalid digit found in string';
  const value = Number(text);
  return value > 0xff ? 'number too large to fit in target type' : value;
}

function hasHostBits(bytes: Uint8Array, prefix: number): boolean {
  return bytes.some((byte, index) => {
    const networkBits = Math.min(8, Math.max(0, prefix - index * 8));
    return (byte & (0xff >> networkBits)) !== 0;
  });
}

/** The network of an address: the same prefix, without host bits. */
export function withoutHostBits({ address, prefix }: Cidr): Cidr {
  const bytes = parseIP(address);
  if (!bytes) return { address, prefix };
  for (let index = 0; index < bytes.length; index++) {
    const hostBits = 8 - Math.min(8, Math.max(0, prefix - index * 8));
    bytes[index] = ((bytes[index] ?? 0) >> hostBits) << hostBits;
  }
  return { address: formatIP(bytes), prefix };
}

/** Whether an IP address in text is within a network, which may have host bits set. */
export function addressInNetwork(host: string, { address, prefix }: Cidr): boolean {
  const bytes = parseIP(host);
  const network = parseIP(address);
  if (!bytes || !network || bytes.length !== network.length) return false;
  return bytes.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefix - index * 8));
    return ((byte ^ (network[index] ?? 0)) & (0xff00 >> bits) & 0xff) === 0;
  });
}

/** Returns a hint for text that should be an IP address alone; `undefined` if it resembles none. */
export function addressHint(text: string): string | undefined {
  const [address = '', ...rest] = text.trim().split('/');
  if (rest.length > 0 && ipVersion(address) !== 0) {
    return `write the address without a prefix length: ${address}`;
  }
  const host = withoutPort(text.trim());
  if (ipVersion(host) !== 0) return `write the address alone: ${host}`;
  return undefined;
}

/**
 * Returns a hint for text that should be an IP address with a port.
 * @param port suggested if the text has none
 */
export function socketAddressHint(text: string, port: number): string | undefined {
  const trimmed = text.trim();
  if (trimmed.includes('://')) {
    return `write an IP address and a port here, such as 192.0.2.53:${port}; with backend = "https" the URL is the value of url`;
  }
  if (ipVersion(trimmed) === 4) return `the port is missing: ${trimmed}:${port}`;
  const inner = trimmed.replace(/^\[/, '').replace(/\]$/, '');
  if (ipVersion(inner) === 6) return `write IPv6 in brackets, with a port: [${inner}]:${port}`;
  const host = withoutPort(trimmed);
  if (/^[a-z0-9.-]+$/i.test(host) && ipVersion(host) === 0) {
    return `${host} is a name, which would have to be resolved first: write an IP address and a port, such as 192.0.2.53:${port}`;
  }
  return undefined;
}

/** Returns the host of `host:port` and `[host]:port`, or the text itself. */
function withoutPort(text: string): string {
  const close = text.indexOf(']');
  if (text.startsWith('[') && close > 0) return text.slice(1, close);
  const colon = text.indexOf(':');
  return colon >= 0 && colon === text.lastIndexOf(':') ? text.slice(0, colon) : text;
}
