import { canonicalHost, type Endpoint } from '../addresses/address.ts';
import type { Packet } from '../links/link.ts';
import { systemSockets } from './system-sockets.ts';
import type { UdpSocket } from './sockets.ts';

/** A UDP socket that receives from one server only. */
export interface ServerSocket {
  readonly udp: UdpSocket;
  /** The address of the server in the kernel's form, for sending. */
  readonly server: Endpoint;
}

/**
 * Binds a UDP socket for the datagrams of one server; others are dropped and counted.
 *
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
