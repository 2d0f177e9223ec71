import { addressInNetwork, type Cidr } from '../../ip/cidr.ts';
import type { Endpoint } from '../../net/addresses/address.ts';

export const DNS_PORT = 53;

/**
 * The addresses at which a device's programs reach the proxy's own resolver: those of the device, and
 * every other one of its subnets. The kernel delivers a local program's packet for the device's own address
 * by itself: `LocalResolver` takes those.
 */
export class ResolverAddresses {
  readonly #networks: readonly Cidr[];

  /** @param addresses of the device, each with the length of its prefix. */
  constructor(addresses: readonly Cidr[]) {
    this.#networks = addresses;
  }

  has({ host, port }: Endpoint): boolean {
    return port === DNS_PORT && this.#networks.some((network) => addressInNetwork(host, network));
  }
}
