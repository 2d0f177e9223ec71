import { codeOf } from '@weir/base';
import {
  canonicalHost,
  type Endpoint,
  type FamilyPolicy,
  ipVersion,
} from '../addresses/addresses.ts';
import type { Packet } from '../links/link.ts';
import { kernelSockets, openKernelIo } from './kernel/kernel-sockets.ts';
import { LinkWatchdog, type LostEvent } from './kernel/watchdog.ts';
import { nodeSockets } from './node/node-sockets.ts';
import type { Sockets, UdpSocket } from './sockets.ts';
import { systemClock } from '../time/clock.ts';

let chosen: Sockets | undefined;

/**
 * Returns the sockets of this thread; like `systemClock`, they belong to the process and not to a part of it: one epoll
 * instance serves a thread's event loop. Chosen on first use, since the probe loads native code.
 */
export const systemSockets = (): Sockets => (chosen ??= choose());

function choose(): Sockets {
  const { io, reason } = openKernelIo();
  if (!io) return nodeSockets(reason);
  return kernelSockets(io, io.calls.debug ? new LinkWatchdog(systemClock, raise) : undefined);
}

/** Throws: in the debug mode a lost event is a defect that every test has to notice. */
function raise(lost: LostEvent): void {
  throw new Error(`an event of a socket was lost: ${JSON.stringify(lost)}`);
}

/**
 * Codes of connect(2) for a peer without a route, without a local address of its family, or of an unsupported family.
 */
const NO_ROUTE: ReadonlySet<unknown> = new Set([
  'ENETUNREACH',
  'EHOSTUNREACH',
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
]);
/** Whether datagrams can be sent to an IP address. */
export type HasRoute = (host: string) => Promise<boolean> | boolean;

/** Any port will do: connecting a UDP socket sends nothing. */
const PORT = 9;

/**
 * Returns the address that datagrams are sent to; `undefined` for an empty list.
 *
 * Datagrams cannot race as connections do. Without a configured preference IPv4 comes first, which most
 * networks carry; of a name with addresses of both families, the first one to which this host has a route
 * (RFC 6724 §5 rule 1) is chosen.
 *
 * @param addresses in the order of the resolver, which already follows `family`.
 * @param hasRoute asks for the routes of this host when left out.
 */
export async function reachableAddress(
  addresses: readonly string[],
  family: FamilyPolicy,
  hasRoute: HasRoute = routeQuery(systemSockets()),
): Promise<string | undefined> {
  const [first] = addresses;
  if (first === undefined) return undefined;
  const other = addresses.find((address) => ipVersion(address) !== ipVersion(first));
  if (other === undefined) return first;
  const isSecond = family === 'auto' && ipVersion(first) === 6;
  const [preferred, fallback] = isSecond ? [other, first] : [first, other];
  if (await hasRoute(preferred)) return preferred;
  return (await hasRoute(fallback)) ? fallback : preferred;
}

/**
 * Asks the kernel, which connects a UDP socket only if there is a route. Other failures do not count as a missing
 * route.
 */
export const routeQuery =
  (sockets: Pick<Sockets, 'bindUdp'>): HasRoute =>
  async (host) => {
    try {
      const family = ipVersion(host) === 6 ? 6 : 4;
      const socket = await sockets.bindUdp({ family, peer: { host, port: PORT } });
      socket.close();
      return true;
    } catch (error) {
      return !NO_ROUTE.has(codeOf(error));
    }
  };

/** A UDP socket that receives from one server only. */
interface ServerSocket {
  readonly udp: UdpSocket;
  /** The address of the server in the kernel's form, for sending. */
  readonly server: Endpoint;
}

/**
 * Binds a UDP socket for the datagrams of one server; others are dropped and counted.
 * @param stated an IP address in any notation, and a port.
 * @param decode decodes a datagram of the server; `undefined` drops it. It must not throw.
 * @param association the client's address; see `UdpBindOptions`.
 * @throws the system's error when no socket can be bound.
 */
export async function bindToServer(
  stated: Endpoint,
  decode: (data: Uint8Array) => Packet | undefined,
  association = '',
): Promise<ServerSocket> {
  // Text is compared below, and an operator or a server may write an address in several forms.
  const server = { host: canonicalHost(stated.host), port: stated.port };
  const udp = await systemSockets().bindUdp({
    family: server.host.includes(':') ? 6 : 4,
    association,
    incoming: (data, host, port) =>
      port === server.port && host === server.host ? decode(data) : undefined,
  });
  return { udp, server };
}
