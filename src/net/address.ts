import { isIP } from 'node:net';

/** A host and a port; `host` is a domain name or an IP address in text without brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export type Network = 'tcp' | 'udp';

/** The destination of a client's request. */
export interface Destination extends Endpoint {
  readonly network: Network;
}

/** 4 or 6 for an IP address in text, 0 for anything else. Zone ids (`fe80::1%eth0`) count as 6. */
export const ipVersion = (host: string): 0 | 4 | 6 => isIP(host) as 0 | 4 | 6;

/** `host:port`, with brackets around IPv6. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

const MAPPED_PREFIX = '::ffff:';

/**
 * The IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2); any other text unchanged.
 *
 * Dual-stack listeners report IPv4 clients in mapped form; rules, replies and the API use the IPv4
 * address.
 */
export function unmapIPv4(host: string): string {
  if (!host.startsWith(MAPPED_PREFIX)) return host;
  const tail = host.slice(MAPPED_PREFIX.length);
  return isIP(tail) === 4 ? tail : host;
}

/** Parses a dotted quad into 4 bytes; `undefined` for other text. */
export function parseIPv4(text: string): Uint8Array | undefined {
  if (isIP(text) !== 4) return undefined;
  return Uint8Array.from(text.split('.'), Number);
}

/** Parses an IPv6 address, an embedded dotted quad included, into 16 bytes. Zone ids are rejected. */
export function parseIPv6(text: string): Uint8Array | undefined {
  if (isIP(text) !== 6 || text.includes('%')) return undefined;
  let source = text;
  const dot = source.lastIndexOf('.');
  if (dot >= 0) {
    const colon = source.lastIndexOf(':');
    const [a = 0, b = 0, c = 0, d = 0] = source
      .slice(colon + 1)
      .split('.')
      .map(Number);
    source = `${source.slice(0, colon + 1)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [head = '', tail] = source.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const bytes = new Uint8Array(16);
  const put = (values: number[], from: number): void => {
    values.forEach((value, index) => {
      bytes[(from + index) * 2] = value >> 8;
      bytes[(from + index) * 2 + 1] = value & 0xff;
    });
  };
  put(left, 0);
  put(right, 8 - right.length);
  return bytes;
}

/** The 4 or 16 bytes of an IP address; `undefined` for a domain name. */
export function parseIP(text: string): Uint8Array | undefined {
  return text.includes(':') ? parseIPv6(text) : parseIPv4(text);
}

/** The text of 4 or 16 address bytes; IPv6 in the form of RFC 5952. */
export function formatIP(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups: number[] = [];
  for (let i = 0; i < 16; i += 2) groups.push(((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0));
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `${MAPPED_PREFIX}${bytes.subarray(12).join('.')}`;
  }
  const { start, length } = longestZeroRun(groups);
  const hex = (values: number[]): string => values.map((value) => value.toString(16)).join(':');
  if (length < 2) return hex(groups);
  return `${hex(groups.slice(0, start))}::${hex(groups.slice(start + length))}`;
}

/**
 * The canonical text of an IP address, as the kernel reports it: IPv6 in the form of RFC 5952, an
 * IPv4-mapped address as the IPv4 one. A name or an address with a zone is returned unchanged.
 */
export function canonicalHost(host: string): string {
  const bytes = parseIP(host);
  return bytes ? unmapIPv4(formatIP(bytes)) : host;
}

/** RFC 5952 §4.2: the longest run of zero groups is shortened, the first of several equal ones. */
function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let i = 0; i < groups.length; i++) {
    let end = i;
    while (groups[end] === 0) end++;
    if (end - i > best.length) best = { start: i, length: end - i };
    if (end > i) i = end;
  }
  return best;
}

/**
 * Whether a datagram from `source` may be passed on as a response of `peer`, in a framing that has
 * no field for the source. The address of a peer with a name is not known, so only its port counts.
 */
export const mayRespondFor = (peer: Endpoint, source: Endpoint): boolean =>
  peer === source ||
  (peer.port === source.port &&
    (peer.host === source.host || (ipVersion(peer.host) === 0 && ipVersion(source.host) !== 0)));
