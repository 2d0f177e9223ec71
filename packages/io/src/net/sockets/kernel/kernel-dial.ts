import { Socket } from 'node:net';
import type { Endpoint } from '../../addresses/addresses.ts';
import { abortedDial, toDialError } from '../../errors.ts';
import type { ByteLink, Carrier, WireCounter } from '../../links/link.ts';
import {
  type DescriptorHolder,
  type DescriptorHolders,
  descriptorHolders,
} from '../../bounds/shares.ts';
import { KernelLink } from './kernel-link.ts';
import type { LinkWatchdog } from './watchdog.ts';
import { connectSocket } from '../node/node-sockets.ts';
import {
  type AcceptedConnection,
  type BoundListener,
  type ConnectOptions,
  type DialledSocket,
  type ListenOptions,
  type UnixPath,
  ObservedSocket,
} from '../sockets.ts';
import type { SystemError } from '../../../platform/sockets/errno.ts';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import type { SocketAddress } from '../../../platform/sockets/sockaddr.ts';
import { setDatagramOptions } from '../../../platform/sockets/socket-options.ts';
import { StreamListener } from '../../../platform/sockets/streams/stream-listener.ts';
import { StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';

const CLOSED = { allowHalfOpen: true } as const;
const OPEN = { allowHalfOpen: true, readable: true, writable: true, pauseOnCreate: true } as const;

/**
 * Hands a kernel socket over to Node, for layers that need a socket of Node. Reading is paused.
 * @throws the error of Node for a descriptor that it cannot use, which is closed then.
 */
function nodeSocket(kernel: StreamSocket): Socket {
  const { calls } = kernel.io;
  const fd = kernel.release();
  let socket: Socket;
  try {
    socket = new Socket(fd < 0 ? CLOSED : { fd, ...OPEN });
  } catch (error) {
    if (fd >= 0) {
      calls.debug?.adopt(fd);
      calls.close(fd);
    }
    throw error;
  }
  // An error before a layer has taken over the socket must not end the process.
  socket.on('error', () => undefined);
  if (fd < 0) socket.destroy();
  return socket;
}

/**
 * Binds to an IP address or a path, and accepts until closed.
 * @throws {SystemError} with the code and the text of node:net.
 */
export function listenKernel(
  io: KernelIo,
  where: Endpoint | UnixPath,
  { onConnection, onPaused }: ListenOptions,
  watchdog?: LinkWatchdog,
  holders = descriptorHolders,
): BoundListener {
  const listener = new StreamListener(io, where, {
    onPaused,
    makeRoom: (remote) => holders.makeRoom(endpointOf(remote)?.host),
    onSocket: (socket, remote) => {
      // A listener on one address: every connection has it.
      const local = isWildcard ? endpointOf(io.addresses.localOf(socket.fd)) : endpoint;
      onConnection(new KernelConnection(socket, endpointOf(remote), local, holders, watchdog));
    },
  });
  const endpoint = endpointOf(listener.local);
  const isWildcard = endpoint !== undefined && WILDCARDS.has(endpoint.host);
  return { endpoint, close: () => listener.close() };
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const endpointOf = (address: SocketAddress | undefined): Endpoint | undefined =>
  address && 'host' in address ? address : undefined;

class KernelConnection implements AcceptedConnection, DescriptorHolder {
  readonly remote: Endpoint | undefined;
  readonly local: Endpoint | undefined;
  readonly #socket: StreamSocket;
  readonly #holders: DescriptorHolders;
  readonly #watchdog: LinkWatchdog | undefined;
  #taken: KernelLink | Socket | undefined;

  constructor(
    socket: StreamSocket,
    remote: Endpoint | undefined,
    local: Endpoint | undefined,
    holders: DescriptorHolders,
    watchdog: LinkWatchdog | undefined,
  ) {
    this.#socket = socket;
    this.remote = remote;
    this.local = local;
    this.#holders = holders;
    this.#watchdog = watchdog;
    holders.add(this, remote?.host);
    socket.onClose(() => holders.delete(this));
  }

  link(): ByteLink & WireCounter {
    const link = new KernelLink(this.#socket, this.#watchdog);
    this.#taken = link;
    return link;
  }

  /** The descriptor has inherited the options of the listener, which are those that Node would set. */
  socket(): Socket {
    const socket = nodeSocket(this.#socket);
    this.#taken = socket;
    if (socket.destroyed) return socket;
    this.#holders.add(this, this.remote?.host);
    return socket.once('close', () => this.#holders.delete(this));
  }

  evict(cause: Error): void {
    const taken = this.#taken;
    if (taken instanceof KernelLink) taken.destroy(cause);
    else if (taken) taken.resetAndDestroy();
    else this.#socket.reset();
  }

  destroy(): void {
    this.#socket.close();
  }
}

interface KernelDialOptions extends ConnectOptions {
  readonly watchdog?: LinkWatchdog | undefined;
}

/**
 * Opens a TCP connection to one IP address in text (no name is resolved here), as a link; the
 * `connect` of `Sockets`.
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
    onSocket?.(
      new ObservedSocket(
        () => dialled.local,
        (callback) => void closed.promise.then(callback),
      ),
    );
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
    return new KernelCarrier(link, target, socket);
  });

/** A dialled connection. A class, since V8 creates the accessors of an object literal in the old generation. */
class KernelCarrier implements Carrier {
  readonly link: ByteLink;
  readonly wire: WireCounter;
  readonly remote: Endpoint;
  readonly #socket: StreamSocket;

  constructor(link: KernelLink, remote: Endpoint, socket: StreamSocket) {
    this.link = this.wire = link;
    this.remote = remote;
    this.#socket = socket;
  }

  /** Read on demand, which saves a system call for most connections. */
  get local(): Endpoint | undefined {
    // The kernel no longer has it when the peer has reset the connection.
    const local = this.#socket.isOpen ? localOf(this.#socket) : undefined;
    return local && local.port !== 0 ? local : undefined;
  }
}

const localOf = ({ io, fd }: StreamSocket): Endpoint | undefined =>
  endpointOf(io.addresses.localOf(fd));

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
  onSocket?.(
    new ObservedSocket(
      () => localOf(socket),
      (callback) => socket.onClose(callback),
    ),
  );
  if (attempt.connected) settle(socket);
  else signal.addEventListener('abort', onAbort, { once: true });
  return promise;
}
