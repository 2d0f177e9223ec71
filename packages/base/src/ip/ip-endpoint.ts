import { formatIPv6, ipVersion, putIPv4, putIPv6 } from './addresses.ts';

/**
 * An IP address and a UDP port in numbers, so that a datagram costs no text, no bytes and no new
 * object: two endpoints are compared by their fields.
 *
 * The words are the 16 bytes of an IPv6 address in network order, each as a signed 32-bit integer.
 * An IPv4 address is in mapped form (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2) on every socket, so
 * that an address has one form.
 */
export interface IpEndpoint {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly d: number;
  readonly port: number;
  /** The interface index of a link-local IPv6 address (RFC 4007 §6); 0 if none is needed. */
  readonly scope: number;
}

/** A mutable endpoint, for records that are reused. */
export type MutableIpEndpoint = { -readonly [key in keyof IpEndpoint]: number };

/** The third word of an IPv4-mapped address. */
export const MAPPED = 0xffff;

/** Returns a new endpoint: `::`, port 0. */
export const blankEndpoint = (): MutableIpEndpoint => ({
  a: 0,
  b: 0,
  c: 0,
  d: 0,
  port: 0,
  scope: 0,
});

export const copyEndpoint = ({ a, b, c, d, port, scope }: IpEndpoint): MutableIpEndpoint => ({
  a,
  b,
  c,
  d,
  port,
  scope,
});

export function assignEndpoint(to: MutableIpEndpoint, from: IpEndpoint): void {
  to.a = from.a;
  to.b = from.b;
  to.c = from.c;
  to.d = from.d;
  to.port = from.port;
  to.scope = from.scope;
}

export const isSameEndpoint = (one: IpEndpoint, other: IpEndpoint): boolean =>
  one.port === other.port && isSameAddress(one, other);

/** Whether two endpoints differ at most in their ports. */
export const isSameAddress = (one: IpEndpoint, other: IpEndpoint): boolean =>
  one.d === other.d &&
  one.c === other.c &&
  one.b === other.b &&
  one.a === other.a &&
  one.scope === other.scope;

export const isIPv4Endpoint = ({ a, b, c }: IpEndpoint): boolean =>
  c === MAPPED && b === 0 && a === 0;

/** Whether the address is `::` or `0.0.0.0`. */
export const isWildcard = ({ a, b, c, d }: IpEndpoint): boolean =>
  d === 0 && b === 0 && a === 0 && (c === 0 || c === MAPPED);

/** Returns an endpoint for an IP address in text without a zone; `undefined` for any other text. */
export function toEndpoint(host: string, port: number, scope = 0): IpEndpoint | undefined {
  const version = host.includes('%') ? 0 : ipVersion(host);
  if (version === 0) return undefined;
  if (version === 4) {
    const quad = new Uint8Array(4);
    putIPv4(host, quad, 0);
    return { a: 0, b: 0, c: MAPPED, d: wordAt(quad, 0), port, scope };
  }
  const bytes = new Uint8Array(16);
  putIPv6(host, bytes, 0);
  return {
    a: wordAt(bytes, 0),
    b: wordAt(bytes, 4),
    c: wordAt(bytes, 8),
    d: wordAt(bytes, 12),
    port,
    scope,
  };
}

const wordAt = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 24) |
  ((bytes[at + 1] ?? 0) << 16) |
  ((bytes[at + 2] ?? 0) << 8) |
  (bytes[at + 3] ?? 0);

/** Returns the 4 bytes of an IPv4 address or the 16 of an IPv6 address, in network order. */
export function addressBytes(endpoint: IpEndpoint): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, endpoint.a);
  view.setInt32(4, endpoint.b);
  view.setInt32(8, endpoint.c);
  view.setInt32(12, endpoint.d);
  return isIPv4Endpoint(endpoint) ? bytes.subarray(12) : bytes;
}

/** Returns the address in text, in the form of `formatIP`, but an IPv4 address as a dotted quad; without its scope. */
export function addressText(endpoint: IpEndpoint): string {
  if (!isIPv4Endpoint(endpoint)) return formatIPv6(addressBytes(endpoint), 0);
  const { d } = endpoint;
  return `${d >>> 24}.${(d >>> 16) & 0xff}.${(d >>> 8) & 0xff}.${d & 0xff}`;
}

/** Returns the endpoint with its address in text: see `addressText`. */
export function endpointText(endpoint: IpEndpoint): {
  readonly host: string;
  readonly port: number;
} {
  return { host: addressText(endpoint), port: endpoint.port };
}
