import { addressBytes, type IpEndpoint } from '@weir/base/ip';
import { AF_INET, AF_INET6 } from '../sockets/linux.ts';
import { readAttributes, wordAttribute } from './message.ts';
import { NetlinkError, type NetlinkSocket } from './netlink-socket.ts';
import { RTA_DST, RTA_OIF, RTM_GETROUTE, RTMSG_LENGTH, RTN_LOCAL } from './route-messages.ts';

/** The kernel's route to a destination. */
export interface UsualRoute {
  /** The index of the interface; 0 if the route has none. */
  readonly device: number;
  /** Whether the destination is an address of this host. */
  readonly isLocal: boolean;
}

/**
 * Returns the route that the kernel uses for a destination; `undefined` if there is none.
 *
 * @throws {SystemError} if the kernel does not reply.
 */
export function usualRoute(
  netlink: NetlinkSocket,
  destination: IpEndpoint,
): UsualRoute | undefined {
  const bytes = addressBytes(destination);
  const body = Buffer.alloc(RTMSG_LENGTH);
  body[0] = bytes.length === 4 ? AF_INET : AF_INET6;
  body[1] = bytes.length * 8;
  const attributes = [{ type: RTA_DST, value: bytes }];
  if (destination.scope !== 0) attributes.push(wordAttribute(RTA_OIF, destination.scope));
  try {
    const reply = netlink.query('find a route', RTM_GETROUTE, body, attributes);
    if (!reply || reply.body.length < RTMSG_LENGTH) return undefined;
    const device = readAttributes(reply.body, RTMSG_LENGTH).get(RTA_OIF)?.readUInt32LE(0) ?? 0;
    return { device, isLocal: reply.body[7] === RTN_LOCAL };
  } catch (error) {
    // No route, or a route that rejects packets.
    if (error instanceof NetlinkError) return undefined;
    throw error;
  }
}
