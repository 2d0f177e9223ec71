import { ipVersion, unmapIPv4, type Endpoint } from './address.ts';

/** What a bound UDP socket can send to. */
export interface UdpReach {
  readonly family: 4 | 6;
  /** An IPv6 socket on `::` reaches IPv4 peers as well. */
  readonly dualStack: boolean;
}

/**
 * The IP address of a peer that a socket reaches, an IPv4-mapped one as the IPv4 address;
 * `undefined` for names, for port 0 and for the family that the socket does not have.
 */
export function reachable({ family, dualStack }: UdpReach, peer: Endpoint): string | undefined {
  if (!(peer.port > 0 && peer.port <= 0xffff)) return undefined;
  const host = unmapIPv4(peer.host);
  const version = ipVersion(host);
  return version === family || (version === 4 && dualStack) ? host : undefined;
}
