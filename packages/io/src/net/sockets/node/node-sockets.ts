import { connect, createServer, type Server, type Socket } from 'node:net';
import { WeirError } from '@weir/base';
import type { Endpoint } from '../../addresses/addresses.ts';
import { abortedDial, toDialError } from '../../errors.ts';
import type { ByteLink, Carrier, WireCounter } from '../../links/link.ts';
import { isInterfaceAddress } from '../interface-addresses.ts';
import { NodeDatagramSocket } from './node-datagram-socket.ts';
import { endsOf, socketCarrier, SocketLink } from './socket-link.ts';
import { UdpLink } from './udp-socket.ts';
import {
  type AcceptedConnection,
  type BoundListener,
  type ConnectOptions,
  type ListenOptions,
  type Sockets,
  type UnixPath,
  ObservedSocket,
} from '../sockets.ts';
import { KEEP_ALIVE_DELAY_MS } from '../../time/clock.ts';
import { claimPassed } from '../../../platform/passed-sockets.ts';

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

/**
 * Opens a TCP connection to one IP address in text (no name is resolved here), as a link.
 * @throws {DialError} as `connectSocket` does.
 */
export const connectTcp = async (
  address: string,
  port: number,
  options: ConnectOptions,
): Promise<Carrier> => {
  const socket = await connectSocket(address, port, options);
  // The kernel no longer has the addresses when the peer has reset the connection meanwhile.
  const remote = { host: address, port };
  return { ...socketCarrier(socket, socket, endsOf(socket)), remote };
};

/**
 * Opens a TCP connection to one IP address in text, for layers that need Node's own socket.
 *
 * An idle connection costs 5 KB of resident memory with its link, whatever its high-water mark is
 * (measured with 16, 64 and 256 KB), so Node's default is kept. The listeners of the dial are removed
 * before the link takes over the socket.
 *
 * @throws {DialError} with the kernel's reason, or that of `signal`, which also destroys the socket.
 */
export function connectSocket(
  address: string,
  port: number,
  { signal, onSocket }: ConnectOptions,
): Promise<Socket> {
  const target: Endpoint = { host: address, port };
  if (signal.aborted) return Promise.reject(abortedDial(signal, target));
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: address,
      port,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
      autoSelectFamily: false,
    });
    // Node begins to connect in the next tick, and caches the local address that it finds before that, which is none,
    // until the connection is established: too late for a listener of this process, which may accept it earlier.
    let hasBegun = false;
    process.nextTick(() => (hasBegun = true));
    onSocket?.(
      new ObservedSocket(
        () => (hasBegun ? endsOf(socket).local : undefined),
        (callback) => void socket.once('close', callback),
      ),
    );
    const settle = (): void => {
      signal.removeEventListener('abort', onAbort);
      socket.off('connect', onConnect);
      socket.off('error', onError);
    };
    const onConnect = (): void => {
      settle();
      socket.on('error', () => undefined);
      resolve(socket);
    };
    const onError = (error: Error): void => {
      settle();
      reject(toDialError(error, target));
    };
    const onAbort = (): void => {
      settle();
      // A socket that is destroyed without an error emits none later.
      socket.destroy();
      reject(abortedDial(signal, target));
    };
    socket.on('connect', onConnect);
    socket.on('error', onError);
    signal.addEventListener('abort', onAbort);
  });
}
