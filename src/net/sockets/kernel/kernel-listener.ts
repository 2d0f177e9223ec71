import type { Socket } from 'node:net';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import type { SocketAddress } from '../../../platform/sockets/sockaddr.ts';
import { StreamListener } from '../../../platform/sockets/streams/stream-listener.ts';
import type { StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';
import type { Endpoint } from '../../addresses/address.ts';
import type { ByteLink, WireCounter } from '../../links/link.ts';
import type { AcceptedConnection, BoundListener, ListenOptions, UnixPath } from '../sockets.ts';
import { nodeSocket } from './node-socket.ts';
import { KernelLink } from './kernel-link.ts';
import type { LinkWatchdog } from './watchdog.ts';

/**
 * Binds to an IP address or a path, and accepts until closed.
 *
 * @throws {SystemError} with the code and the text of node:net.
 */
export function listenKernel(
  io: KernelIo,
  where: Endpoint | UnixPath,
  { onConnection, onHeldBack }: ListenOptions,
  watchdog?: LinkWatchdog,
): BoundListener {
  const listener = new StreamListener(io, where, {
    onHeldBack,
    onSocket: (socket, remote) => {
      // A listener on one address: every connection has that address.
      const local = isWildcard ? endpointOf(io.addresses.localOf(socket.fd)) : endpoint;
      onConnection(new KernelConnection(socket, endpointOf(remote), local, watchdog));
    },
  });
  const endpoint = endpointOf(listener.local);
  const isWildcard = endpoint !== undefined && WILDCARDS.has(endpoint.host);
  return { endpoint, close: () => listener.close() };
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const endpointOf = (address: SocketAddress | undefined): Endpoint | undefined =>
  address && 'host' in address ? address : undefined;

class KernelConnection implements AcceptedConnection {
  readonly remote: Endpoint | undefined;
  readonly local: Endpoint | undefined;
  readonly #socket: StreamSocket;
  readonly #watchdog: LinkWatchdog | undefined;

  constructor(
    socket: StreamSocket,
    remote: Endpoint | undefined,
    local: Endpoint | undefined,
    watchdog: LinkWatchdog | undefined,
  ) {
    this.#socket = socket;
    this.remote = remote;
    this.local = local;
    this.#watchdog = watchdog;
  }

  link(): ByteLink & WireCounter {
    return new KernelLink(this.#socket, this.#watchdog);
  }

  /** The descriptor has inherited the options of the listener, which are those that Node would set. */
  socket(): Socket {
    return nodeSocket(this.#socket);
  }

  destroy(): void {
    this.#socket.close();
  }
}
