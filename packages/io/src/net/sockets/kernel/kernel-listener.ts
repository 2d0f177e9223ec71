import type { Socket } from 'node:net';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import type { SocketAddress } from '../../../platform/sockets/sockaddr.ts';
import { StreamListener } from '../../../platform/sockets/streams/stream-listener.ts';
import type { StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';
import type { Endpoint } from '../../addresses/address.ts';
import type { ByteLink, WireCounter } from '../../links/link.ts';
import type { AcceptedConnection, BoundListener, ListenOptions, UnixPath } from '../sockets.ts';
import {
  descriptorHolders,
  type DescriptorHolder,
  type DescriptorHolders,
} from '../descriptor-holders.ts';
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
