import type { Cidr } from '../../ip/cidr.ts';
import { isIPv4Endpoint, toEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';

/** Longer prefixes have no address for all hosts (RFC 3021). */
const LONGEST_PREFIX = 30;

/** The addresses of all hosts of these networks (RFC 922 §7); IPv6 has none. */
export function broadcastAddresses(networks: readonly Cidr[]): IpEndpoint[] {
  return networks.flatMap(({ address, prefix }) => {
    const host = toEndpoint(address, 0);
    if (host === undefined || !isIPv4Endpoint(host) || prefix > LONGEST_PREFIX) return [];
    return [{ ...host, d: host.d | (-1 >>> prefix) }];
  });
}
