import type { Socket } from 'node:net';
import { unmapIPv4, type Endpoint } from '../../addresses/address.ts';
import type { ByteLink, Carrier, WireCounter } from '../../links/link.ts';
import { SocketLink } from './socket-link.ts';

/** The addresses of a connected kernel socket. */
export interface SocketEnds {
  readonly remote: Endpoint | undefined;
  readonly local: Endpoint | undefined;
}

/** Returns the addresses of an open socket: the kernel forgets them with the connection. */
export const endsOf = (socket: Socket): SocketEnds => ({
  remote: endpointOf(socket.remoteAddress, socket.remotePort),
  local: endpointOf(socket.localAddress, socket.localPort),
});

/** Returns a socket as a carrier; `raw` is the kernel socket below TLS. */
export function socketCarrier(socket: Socket, raw: Socket, ends: SocketEnds): Carrier {
  const link = new SocketLink(socket, raw);
  return carrierOf(link, link, ends);
}

export const carrierOf = (link: ByteLink, wire: WireCounter, ends: SocketEnds): Carrier => ({
  link,
  wire,
  ...ends,
});

const endpointOf = (host: string | undefined, port: number | undefined): Endpoint | undefined =>
  host === undefined || port === undefined ? undefined : { host: unmapIPv4(host), port };
