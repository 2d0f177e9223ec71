import type { Socket } from 'node:net';
import type { SystemError } from '../../../platform/sockets/errno.ts';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import type { SocketAddress } from '../../../platform/sockets/sockaddr.ts';
import { setDatagramOptions } from '../../../platform/sockets/socket-options.ts';
import { StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';
import type { Endpoint } from '../../addresses/address.ts';
import { abortedDial, toDialError } from '../../errors.ts';
import type { Carrier } from '../../links/link.ts';
import { KernelLink } from './kernel-link.ts';
import { connectSocket } from '../node/tcp-dial.ts';
import type { ConnectOptions, DialledSocket } from '../sockets.ts';
import { nodeSocket } from './node-socket.ts';
import type { LinkWatchdog } from './watchdog.ts';

export interface KernelDialOptions extends ConnectOptions {
  readonly watchdog?: LinkWatchdog | undefined;
}

/**
 * Opens a TCP connection to one IP address in text (no name is resolved here), as a link; the
 * `connect` of `Sockets`.
 *
 * @throws {DialError} with the kernel's reason, or that of `signal`, which also closes the socket.
 */
export function connectKernel(
  io: KernelIo,
  address: string,
  port: number,
  options: KernelDialOptions,
): Promise<Carrier> {
  const target: Endpoint = { host: address, port };
  return dial(io, target, target, options);
}

/** Connects to a unix socket by its path. */
export const connectKernelPath = (
  io: KernelIo,
  path: string,
  options: KernelDialOptions,
): Promise<Carrier> => dial(io, { path }, { host: path, port: 0 }, options);

/**
 * Opens a TCP connection to one IP address in text as a socket of Node. Node itself connects unless the
 * interface has to be chosen, which needs a socket of this layer.
 *
 * @throws {DialError} as `connectKernel` does.
 */
export async function connectNodeSocket(
  io: KernelIo,
  target: Endpoint,
  { signal, onSocket }: ConnectOptions,
): Promise<Socket> {
  if (!io.devices) return connectSocket(target.host, target.port, { signal, onSocket });
  const closed = Promise.withResolvers<void>();
  const onDialled = (dialled: DialledSocket): void =>
    onSocket?.({
      get local() {
        return dialled.local;
      },
      onClose: (callback) => void closed.promise.then(callback),
    });
  try {
    const options = { signal, onSocket: onDialled };
    const socket = await connect(io, target, target, options, nodeSocket);
    socket.once('close', closed.resolve);
    return socket;
  } catch (error) {
    closed.resolve();
    throw error;
  }
}

const dial = (
  io: KernelIo,
  address: SocketAddress,
  target: Endpoint,
  options: KernelDialOptions,
): Promise<Carrier> =>
  connect(io, address, target, options, (socket) => {
    const link = new KernelLink(socket, options.watchdog);
    if ('path' in address) return { link, wire: link, remote: undefined, local: undefined };
    return {
      link,
      wire: link,
      remote: target,
      // Read on demand, which saves a system call for most connections.
      get local() {
        // The kernel no longer has it when the peer has reset the connection.
        const local = socket.isOpen ? io.addresses.localOf(socket.fd) : undefined;
        return local && 'host' in local && local.port !== 0 ? local : undefined;
      },
    };
  });

/** @param take creates the result from the connected socket, which it then owns. */
function connect<Result>(
  io: KernelIo,
  address: SocketAddress,
  target: Endpoint,
  { signal, onSocket, use }: ConnectOptions,
  take: (socket: StreamSocket) => Result,
): Promise<Result> {
  if (signal.aborted) return Promise.reject(abortedDial(signal, target));
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const onAbort = (): void => {
    attempt.socket.close();
    reject(abortedDial(signal, target));
  };
  const settle = (socket: StreamSocket): void => {
    try {
      resolve(take(socket));
    } catch (error) {
      socket.close();
      reject(toDialError(error, target));
    }
  };
  const onConnected = (error: SystemError | undefined): void => {
    signal.removeEventListener('abort', onAbort);
    if (error) {
      attempt.socket.close();
      reject(toDialError(error, target));
    } else settle(attempt.socket);
  };
  let attempt: ReturnType<typeof StreamSocket.connect>;
  try {
    attempt = StreamSocket.connect(io, address, onConnected);
  } catch (error) {
    return Promise.reject(toDialError(error, target));
  }
  const { socket } = attempt;
  if (use) setDatagramOptions(io, socket.fd, use === 'association');
  onSocket?.({
    get local() {
      const local = io.addresses.localOf(socket.fd);
      return local && 'host' in local ? local : undefined;
    },
    onClose: (callback) => socket.onClose(callback),
  });
  if (attempt.connected) settle(socket);
  else signal.addEventListener('abort', onAbort, { once: true });
  return promise;
}
