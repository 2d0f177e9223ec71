import { addressInNetwork, type Cidr } from '../../ip/cidr.ts';
import { isIPv4Endpoint, toEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { Endpoint } from '../../net/addresses/address.ts';

export const DNS_PORT = 53;

/**
 * The addresses at which programs reach the proxy's own resolver through a device: the device's own, and all others of
 * its subnets. The kernel itself delivers a local program's packets to the device's own address: `LocalResolver`
 * receives those.
 */
export class ResolverAddresses {
  readonly #networks: readonly Cidr[];

  /** @param addresses the device's addresses, each with the length of its prefix. */
  constructor(addresses: readonly Cidr[]) {
    this.#networks = addresses;
  }

  has({ host, port }: Endpoint): boolean {
    return port === DNS_PORT && this.#networks.some((network) => addressInNetwork(host, network));
  }
}

/** The longest prefix with a broadcast address (RFC 3021). */
const LONGEST_BROADCAST_PREFIX = 30;

/** Returns the directed broadcast addresses of these networks (RFC 922 §7); IPv6 has none. */
export function broadcastAddresses(networks: readonly Cidr[]): IpEndpoint[] {
  return networks.flatMap(({ address, prefix }) => {
    const host = toEndpoint(address, 0);
    if (host === undefined || !isIPv4Endpoint(host)) return [];
    if (prefix > LONGEST_BROADCAST_PREFIX) return [];
    return [{ ...host, d: host.d | (-1 >>> prefix) }];
  });
}
