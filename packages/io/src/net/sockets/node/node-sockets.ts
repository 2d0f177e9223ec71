import { createServer, type Server, type Socket } from 'node:net';
import { WeirError } from '@weir/base';
import { claimPassed } from '../../../platform/passed-sockets.ts';
import type { Endpoint } from '../../addresses/address.ts';
import type { ByteLink, WireCounter } from '../../links/link.ts';
import type {
  AcceptedConnection,
  BoundListener,
  ListenOptions,
  Sockets,
  UnixPath,
} from '../sockets.ts';
import { isInterfaceAddress } from '../interface-addresses.ts';
import { KEEP_ALIVE_DELAY_MS } from '../../time/time-limits.ts';
import { NodeDatagramSocket } from './node-datagram-socket.ts';
import { endsOf } from './socket-carrier.ts';
import { SocketLink } from './socket-link.ts';
import { connectSocket, connectTcp } from './tcp-dial.ts';
import { UdpLink } from './udp-link.ts';

/** Connections that the kernel may queue: a burst of clients must not be refused. */
const BACKLOG = 4096;

/** Creates the sockets of Node. @param reason why Node's sockets are in use. */
export const nodeSockets = (reason: string): Sockets => ({
  kind: 'node',
  reason,
  descriptorLimit: Infinity,
  takeRoomForDial: () => true,
  hasRoomForFlow: () => true,
  connect: ({ host, port }, options) => connectTcp(host, port, options),
  connectSocket: ({ host, port }, options) => connectSocket(host, port, options),
  listen,
  bindUdp: (options) => UdpLink.bind(options),
  bindDatagrams: (options, handlers) => NodeDatagramSocket.bind(options, handlers),
  isOwnAddress: isInterfaceAddress,
  // Node's sockets have no TUN device.
  programRoute: (host) => (isInterfaceAddress(host) ? 'host' : 'uplink'),
  openTun: () => {
    throw new WeirError('tun', `a TUN device needs the kernel's own sockets: ${reason}`);
  },
});

async function listen(
  where: Endpoint | UnixPath,
  { onConnection }: ListenOptions,
): Promise<BoundListener> {
  const server = createServer(
    {
      allowHalfOpen: true, // half-close is part of the contract of links
      pauseOnConnect: true, // nothing is read before a handler reads
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
    },
    (socket) => onConnection(new NodeConnection(socket)),
  );
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  const claim = claimPassed('stream', where);
  server.listen({ ...(claim ? { fd: claim.fd } : where), backlog: BACKLOG }, resolve);
  try {
    await promise;
  } catch (error) {
    claim?.release();
    throw error;
  }
  server.off('error', reject);
  // A failed accept loses one connection, not the listener. Exhausted descriptors are not
  // reported here: libuv then silently accepts and closes waiting connections (Node 26.10).
  server.on('error', () => undefined);
  const close = (): void => {
    server.close();
    claim?.release();
  };
  return { endpoint: endpointOf(server), close };
}

function endpointOf(server: Server): Endpoint | undefined {
  const address = server.address();
  if (address === null || typeof address === 'string') return undefined;
  return { host: address.address, port: address.port };
}

class NodeConnection implements AcceptedConnection {
  readonly remote: Endpoint | undefined;
  readonly local: Endpoint | undefined;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    // Read while the socket is open: the kernel forgets them with the connection.
    const { remote, local } = endsOf(socket);
    this.remote = remote;
    this.local = local;
    // An error before the connection is taken must not end the process.
    socket.on('error', () => undefined);
  }

  link(): ByteLink & WireCounter {
    return new SocketLink(this.#socket);
  }

  socket(): Socket {
    return this.#socket;
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
