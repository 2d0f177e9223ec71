import { isIPv4Endpoint, type IpEndpoint } from '@weir/base/ip';

/**
 * Returns a hash of an address without its port, 32 bits: the finishing steps of MurmurHash3 over each word. The salt
 * keeps a peer from choosing colliding addresses. The hash is too weak where a collision would cost more than a shared
 * bucket or a forgotten entry.
 */
export function hashAddress({ a, b, c, d }: IpEndpoint, salt: number): number {
  return mix(mix(mix(mix(salt, a), b), c), d) >>> 0;
}

/** Returns a number for a client's address, for shares of clients; for IPv6 that of its network (/64). */
export const addressNumber = (endpoint: IpEndpoint): number =>
  isIPv4Endpoint(endpoint) ? endpoint.d : Math.imul(endpoint.a, 0x9e3779b1) ^ endpoint.b;

/** Returns a number for the network of a destination: a /16 of IPv4, a /32 of IPv6. */
export const networkNumber = (endpoint: IpEndpoint): number =>
  isIPv4Endpoint(endpoint) ? endpoint.d >>> 16 : endpoint.a;

function mix(state: number, word: number): number {
  let hash = state ^ word;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
