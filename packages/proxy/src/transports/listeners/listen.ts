import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import { type ListenOptions, systemSockets, type UdpSocket, type UnixPath } from '@weir/io/sockets';
import type { Packet, ReplyPath } from '@weir/io/links';
import type { SocketListenSpec } from '../../spec.ts';
import { BindError, bindFirst, bindUnixSocket } from './bind.ts';

/** A bound listening socket, TCP or unix. */
export interface Listener {
  /** The bound address, with the port that the kernel chose, or the path of the unix socket. */
  readonly address: string;
  /** The bound IP address and port; `undefined` for a unix socket. */
  readonly endpoint: Endpoint | undefined;
  /** Stops accepting and releases the address at once; accepted connections stay open. */
  close(): Promise<void>;
}

/**
 * Binds a socket and accepts connections until the listener is closed; `onConnection` owns each accepted connection.
 *
 * A host name is resolved once, and its addresses are tried in order. A unix socket file that a dead process left
 * behind is replaced.
 *
 * @param signal aborts the resolution of a host name
 * @throws {BindError} if no address could be bound
 * @throws the reason of `signal`
 */
export async function listenTcp(
  spec: SocketListenSpec,
  options: ListenOptions,
  signal?: AbortSignal,
): Promise<Listener> {
  switch (spec.kind) {
    case 'unix':
      return listenUnix(spec.path, options);
    case 'ip':
      return bind({ host: spec.host, port: spec.port }, options);
    case 'name':
      return bindFirst(spec, (where) => bind(where, options), signal);
    default:
      return spec satisfies never;
  }
}

const listenUnix = (path: string, options: ListenOptions): Promise<Listener> =>
  bindUnixSocket(path, () => bind({ path }, options));

async function bind(where: Endpoint | UnixPath, options: ListenOptions): Promise<Listener> {
  const text = 'path' in where ? where.path : formatEndpoint(where);
  try {
    const listener = await systemSockets().listen(where, options);
    const { endpoint } = listener;
    return {
      address: endpoint ? formatEndpoint(endpoint) : text,
      endpoint,
      // Synchronous, so that the address is free when the call returns.
      close: () => Promise.resolve(listener.close()),
    };
  } catch (error) {
    throw new BindError(text, error);
  }
}

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
