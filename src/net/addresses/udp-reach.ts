import { ipVersion, unmapIPv4, type Endpoint } from './address.ts';

/** The families that a bound UDP socket can send to. */
export interface UdpReach {
  readonly family: 4 | 6;
  /** Whether an IPv6 socket on `::` reaches IPv4 peers as well. */
  readonly dualStack: boolean;
}

/**
 * Returns the IP address of a peer that a socket reaches, an IPv4-mapped one as the IPv4 address;
 * `undefined` for a name, for port 0 and for a family that the socket cannot reach.
 */
export function reachable({ family, dualStack }: UdpReach, peer: Endpoint): string | undefined {
  if (!(peer.port > 0 && peer.port <= 0xffff)) return undefined;
  const host = unmapIPv4(peer.host);
  const version = ipVersion(host);
  return version === family || (version === 4 && dualStack) ? host : undefined;
}
