import { ipVersion, parseIPv6, unmapIPv4 } from '../addresses/address.ts';

/** Bytes of the network in an IPv6 address; a host may use all addresses of that network (RFC 4291 §2.5.4). */
const PREFIX = 8;

/**
 * Returns the key of one source of clients: an IPv4 address, or an IPv6 network of 64 bits, since one
 * client can use any address in it. All clients of a unix socket are one source.
 *
 * @param source an IP address; `undefined` for a unix socket.
 */
export function sourceGroup(source: string | undefined): string {
  if (source === undefined) return '';
  const address = unmapIPv4(source);
  const bytes = ipVersion(address) === 6 ? parseIPv6(address) : undefined;
  return bytes ? Buffer.from(bytes).toString('hex', 0, PREFIX) : address;
}
