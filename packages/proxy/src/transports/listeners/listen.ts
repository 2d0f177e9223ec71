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

/**
 * The UDP port of a listener, and the path of its responses, also while it is closed to be opened again. Each datagram
 * is delivered at once and never queued: the receiver decides which of them to keep.
 */
export class DatagramPort implements ReplyPath {
  readonly #onDatagram: (packet: Packet) => void;
  #socket: UdpSocket | undefined;
  /** The address that was bound last. */
  #endpoint: Endpoint | undefined;
  #failed = Promise.withResolvers<Error | undefined>();
  #holds = 0;
  /** Resolves when a retired port is closed, or opened again; `undefined` unless it is retired. */
  #retired: PromiseWithResolvers<void> | undefined;

  /** @param onDatagram receives datagrams; their `peer` is the client that sent them */
  constructor(onDatagram: (packet: Packet) => void) {
    this.#onDatagram = onDatagram;
  }

  get closed(): Promise<Error | undefined> {
    return this.#failed.promise;
  }

  get acceptsClients(): boolean {
    return this.#socket !== undefined && !this.#retired;
  }

  /** Binds the port, or keeps a retired one that is still bound. @throws {BindError} */
  async open(endpoint: Endpoint): Promise<void> {
    this.#endRetirement();
    if (!this.#socket) await this.#bind(endpoint);
  }

  /** Binds a retired port again that was closed while the path was held. @throws {BindError} */
  async restore(): Promise<void> {
    if (!this.#retired || this.#socket || !this.#endpoint) return;
    await this.#bind(this.#endpoint);
    if (this.#holds === 0) this.close();
  }

  async #bind(endpoint: Endpoint): Promise<void> {
    const { host, port } = endpoint;
    try {
      const socket = await systemSockets().bindUdp({
        family: host.includes(':') ? 6 : 4,
        address: host,
        port,
        respondsFromOwn: true,
        incoming: (data, source, sourcePort) => {
          this.#onDatagram({ data, peer: { host: source, port: sourcePort } });
          return undefined;
        },
      });
      this.#socket = socket;
      this.#endpoint = endpoint;
      void socket.closed.then((cause) => this.#onFailed(socket, cause));
    } catch (error) {
      throw new BindError(`UDP ${formatEndpoint({ host, port })}`, error);
    }
  }

  send(packet: Packet): void {
    this.#socket?.send(packet);
  }

  hold(): () => void {
    this.#holds++;
    return () => {
      this.#holds--;
      if (this.#holds === 0 && this.#retired) this.close();
    };
  }

  /** Frees the port; what is sent until it is opened again, or restored, is dropped. */
  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
    if (this.#holds === 0) this.#endRetirement();
  }

  /**
   * Closes the port as soon as nothing holds the path; resolves then, or at once if the port is closed. `open` undoes
   * this.
   */
  retire(): Promise<void> {
    this.#retired ??= Promise.withResolvers();
    const { promise } = this.#retired;
    if (!this.#socket) this.#endRetirement();
    else if (this.#holds === 0) this.close();
    return promise;
  }

  /** Ends what holds the path of a closed port. @returns the number of holds */
  end(cause?: Error): number {
    const [failed, holds] = [this.#failed, this.#holds];
    this.#failed = Promise.withResolvers();
    failed.resolve(cause);
    return holds;
  }

  #endRetirement(): void {
    this.#retired?.resolve();
    this.#retired = undefined;
  }

  #onFailed(socket: UdpSocket, cause: Error | undefined): void {
    if (this.#socket !== socket) return;
    this.close();
    this.end(cause);
  }
}
