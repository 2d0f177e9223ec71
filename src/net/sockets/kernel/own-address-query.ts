import { toEndpoint } from '../../../ip/ip-endpoint.ts';
import { NetlinkSocket } from '../../../platform/netlink/netlink-socket.ts';
import { usualRoute } from '../../../platform/netlink/route-query.ts';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import { isInterfaceAddress } from '../interface-addresses.ts';

/**
 * Whether an address is one of this host: one netlink query about that address, however many interfaces there are.
 * Without netlink all interfaces are listed.
 */
export function ownAddressQuery(io: KernelIo): (host: string) => boolean {
  let netlink: NetlinkSocket | undefined;
  return (host) => {
    const endpoint = toEndpoint(host, 0);
    if (!endpoint) return false;
    try {
      netlink ??= new NetlinkSocket(io.calls);
      return usualRoute(netlink, endpoint)?.isLocal ?? false;
    } catch {
      return isInterfaceAddress(host);
    }
  };
}
