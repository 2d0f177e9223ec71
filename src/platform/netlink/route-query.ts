import { addressBytes, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { AF_INET, AF_INET6 } from '../sockets/linux.ts';
import { readAttributes, wordAttribute, type NetlinkMessage } from './message.ts';
import { NetlinkError, type NetlinkSocket } from './netlink-socket.ts';

// Numbers of include/uapi/linux/{rtnetlink,if}.h.
const RTM_GETLINK = 18;
const RTM_GETROUTE = 26;
const RTM_F_FIB_MATCH = 0x2000;
const RTA_DST = 1;
const RTA_OIF = 4;
const RTA_PRIORITY = 6;
const IFF_UP = 1;
const IFF_LOOPBACK = 8;
const IFINFO_LENGTH = 16;
const RTMSG_LENGTH = 12;

/** A route of the kernel to one destination. */
export interface FoundRoute {
  /** The index of the interface; 0 where the route has none, or several. */
  readonly device: number;
  /** Bits of the network that the route is to. */
  readonly prefix: number;
  /** Of routes to the same network, the least is taken. */
  readonly metric: number;
}

/** The interfaces that are up, by index, without the loopback. */
export function upInterfaces(netlink: NetlinkSocket): number[] {
  const found: number[] = [];
  netlink.dump('list the interfaces', RTM_GETLINK, Buffer.alloc(IFINFO_LENGTH), ({ body }) => {
    if (body.length < IFINFO_LENGTH) return;
    const flags = body.readUInt32LE(8);
    if ((flags & IFF_UP) !== 0 && (flags & IFF_LOOPBACK) === 0) found.push(body.readInt32LE(4));
  });
  return found;
}

/**
 * The route that the kernel takes to a destination; `undefined` when there is none.
 *
 * @param device only routes by this interface count; all when it is left out.
 */
export function findRoute(
  netlink: NetlinkSocket,
  destination: IpEndpoint,
  device?: number,
): FoundRoute | undefined {
  const bytes = addressBytes(destination);
  const body = Buffer.alloc(RTMSG_LENGTH);
  body[0] = bytes.length === 4 ? AF_INET : AF_INET6;
  body[1] = bytes.length * 8;
  // The entry of the table rather than the route to this one address: it has the prefix. It also
  // keeps the kernel from taking every address for a neighbour of an interface that was named.
  if (device !== undefined) body.writeUInt32LE(RTM_F_FIB_MATCH, 8);
  const attributes = [{ type: RTA_DST, value: bytes }];
  if (device !== undefined) attributes.push(wordAttribute(RTA_OIF, device));
  try {
    const reply = netlink.query('find a route', RTM_GETROUTE, body, attributes);
    return reply && readRoute(reply);
  } catch (error) {
    // No route, or one that refuses.
    if (error instanceof NetlinkError) return undefined;
    throw error;
  }
}

function readRoute({ body }: NetlinkMessage): FoundRoute | undefined {
  if (body.length < RTMSG_LENGTH) return undefined;
  const attributes = readAttributes(body, RTMSG_LENGTH);
  const word = (type: number): number => attributes.get(type)?.readUInt32LE(0) ?? 0;
  return { device: word(RTA_OIF), prefix: body[1] ?? 0, metric: word(RTA_PRIORITY) };
}
