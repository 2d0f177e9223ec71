import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import type { Packet, ReplyPath } from '@weir/io/links';
import { systemSockets, type UdpSocket } from '@weir/io/sockets';
import { BindError } from './bind-error.ts';

/** A bound UDP socket that delivers each datagram at once. */
export interface DatagramListener {
  close(): void;
}

/**
 * Binds a UDP socket; the `peer` of a datagram is the client that sent it. Datagrams are not queued: the receiver
 * decides which of them to keep.
 *
 * @throws {BindError}
 */
export async function listenUdp(
  { host, port }: Endpoint,
  onDatagram: (packet: Packet, replies: ReplyPath) => void,
): Promise<DatagramListener> {
  try {
    const link: UdpSocket = await systemSockets().bindUdp({
      family: host.includes(':') ? 6 : 4,
      address: host,
      port,
      respondsFromOwn: true,
      incoming: (data, source, sourcePort) => {
        onDatagram({ data, peer: { host: source, port: sourcePort } }, link);
        return undefined;
      },
    });
    return { close: () => link.close() };
  } catch (error) {
    throw new BindError(`UDP ${formatEndpoint({ host, port })}`, error);
  }
}
