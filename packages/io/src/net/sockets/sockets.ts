import type { Socket } from 'node:net';
import type {
  DatagramHandlers,
  DatagramSocket,
  DatagramSocketOptions,
  PacketDevice,
} from '@weir/base/ip';
import type { TunPlan } from '../../platform/tun/tun-device.ts';
import type { Endpoint } from '../addresses/addresses.ts';
import type { ByteLink, Carrier, Packet, PacketLink, WireCounter } from '../links/link.ts';

/**
 * Opens the sockets of a thread: those of Node (`net/sockets/node`) or the kernel's directly (`net/sockets/kernel`).
 * Both implement the same contract and pass the same conformance suites.
 */
export interface Sockets {
  readonly kind: 'kernel' | 'node';
  /** The reason why Node's sockets are in use; `undefined` for the kernel's. */
  readonly reason: string | undefined;
  /** Descriptors that the process may have open; Infinity if unknown. */
  readonly descriptorLimit: number;
  /**
   * Takes a descriptor for a dial; returns false when there is none. For the destination of a connection from a TUN
   * device: a reserve is left to accepted connections and DNS queries.
   */
  takeRoomForDial(): boolean;
  /**
   * Whether a descriptor is available for the destination of a client's flow; if none is, one of a client that holds
   * more is evicted first (`DescriptorHolders`). Always true with Node's sockets.
   * @param source the client's IP address; `undefined` on a unix socket.
   */
  hasRoomForFlow(source: string | undefined): boolean;
  /**
   * Opens a TCP connection to an IP address in text.
   * @throws {DialError} with the kernel's reason, or that of `signal`, which also closes the socket.
   */
  connect(target: Endpoint, options: ConnectOptions): Promise<Carrier>;
  /**
   * Opens a TCP connection as a socket of Node, for layers that need one. An error event without a
   * listener does not end the process.
   * @throws {DialError} as `connect` does.
   */
  connectSocket(target: Endpoint, options: ConnectOptions): Promise<Socket>;
  /**
   * Binds to an IP address or a unix path, and accepts until closed. The IPv6 wildcard accepts IPv4 connections as
   * well.
   * @throws the system's error (`EADDRINUSE`, `EACCES`, …).
   */
  listen(where: Endpoint | UnixPath, options: ListenOptions): Promise<BoundListener>;
  /**
   * Opens and binds a UDP socket.
   * @throws the system's error (`EADDRINUSE`, `EADDRNOTAVAIL`, `EAFNOSUPPORT` without IPv6).
   */
  bindUdp(options: UdpBindOptions): Promise<UdpSocket>;
  /**
   * Opens and binds a UDP socket for batches, with numeric addresses, as QUIC and WireGuard use it.
   * @throws the system's error, as `bindUdp` does.
   */
  bindDatagrams(
    options: DatagramSocketOptions,
    handlers: DatagramHandlers,
  ): Promise<DatagramSocket>;
  /**
   * Creates a TUN device with its addresses and routes. As long as it exists, no socket of this layer sends through it:
   * the proxy's own traffic must not return to it.
   * @throws {WeirError} with the reason in words; its code is `EEXIST` when another device has the name, or a route.
   */
  openTun(plan: TunPlan, events?: TunEvents): PacketDevice;
  /** Whether an IP address in text, without a zone, belongs to this host: to an interface, or to loopback. */
  isOwnAddress(host: string): boolean;
  /** Returns the path of packets from a program on this host to an IP address in text, which may have a zone. */
  programRoute(host: string): ProgramRoute;
}

/**
 * The path from a program on this host to an address:
 *
 * - `subnet`: the address is in the subnet of a TUN device of this process, and nowhere else
 * - `device`: through a TUN device of this process
 * - `host`: the address is one of this host
 * - `uplink`: through another interface
 * - `none`: there is no route
 */
export type ProgramRoute = 'subnet' | 'device' | 'host' | 'uplink' | 'none';

/** Events of a TUN device. The functions must not throw. */
export interface TunEvents {
  /** Called when a change by another program was undone. @param what was restored. */
  readonly onRestored: (device: string, what: readonly string[]) => void;
  /**
   * Called when the system has more routes than are examined for a path that bypasses the device.
   * @param most that limit.
   */
  readonly onManyRoutes: (most: number) => void;
  /**
   * Called when a change of the device could not be undone yet.
   * @param reason the reason as text; reported once.
   */
  readonly onUnrestored: (device: string, reason: string) => void;
}

export interface UnixPath {
  readonly path: string;
}

/**
 * The purpose of a connection whose failure must be noticed soon because datagrams depend on it: they are sent on it,
 * or beside it while it is silent itself (RFC 1928 §7).
 */
export type DatagramUse = 'datagrams' | 'association';

export interface ConnectOptions {
  readonly signal: AbortSignal;
  /** The purpose of the connection; ignored by sockets of Node, which lack the options. */
  readonly use?: DatagramUse | undefined;
  /** Called with the socket once it connects and its local port is known. */
  readonly onSocket?: SocketObserver | undefined;
}

/** A connecting or connected TCP socket. */
export interface DialledSocket {
  /** The local address; `undefined` while the kernel has none. */
  readonly local: Endpoint | undefined;
  /** Calls back once the socket is closed. */
  onClose(callback: () => void): void;
}

export type SocketObserver = (socket: DialledSocket) => void;

/** A dialled socket whose local address is read when it is asked for. */
export class ObservedSocket implements DialledSocket {
  readonly onClose: (callback: () => void) => void;
  readonly #readLocal: () => Endpoint | undefined;

  constructor(readLocal: () => Endpoint | undefined, onClose: (callback: () => void) => void) {
    this.#readLocal = readLocal;
    this.onClose = onClose;
  }

  get local(): Endpoint | undefined {
    return this.#readLocal();
  }
}

export interface ListenOptions {
  readonly onConnection: (connection: AcceptedConnection) => void;
  /**
   * Called when descriptors have run out: accepting pauses until some are free, and the kernel queues the connections.
   * Sockets of Node cannot pause, and never call this.
   */
  readonly onPaused?: ((reason: string) => void) | undefined;
}

/**
 * An accepted connection, from which nothing has been read. Its owner takes it once, as a link or as a socket of Node
 * for layers that need one, or destroys it.
 */
export interface AcceptedConnection {
  /** The peer's address; `undefined` on a unix socket. IPv4-mapped addresses are unmapped. */
  readonly remote: Endpoint | undefined;
  readonly local: Endpoint | undefined;
  link(): ByteLink & WireCounter;
  socket(): Socket;
  destroy(): void;
}

/** A bound listening socket. */
export interface BoundListener {
  /** The bound address; `undefined` for a unix socket. */
  readonly endpoint: Endpoint | undefined;
  /** Stops accepting and frees the address at once; accepted connections stay open. Idempotent. */
  close(): void;
}

export interface UdpBindOptions {
  readonly family: 4 | 6;
  /**
   * The local IP address; by default every address of the family. The IPv6 wildcard `::` is dual
   * stack: it reaches and is reached by IPv4 peers as well, and reports them with IPv4 addresses.
   */
  readonly address?: string | undefined;
  /** The local port; 0, the default, lets the kernel choose. */
  readonly port?: number | undefined;
  /**
   * The only peer, an IP address in text: datagrams of others are not received, and when its host
   * reports that the port is closed, the link ends with that error.
   */
  readonly peer?: Endpoint | undefined;
  /** Datagrams that may be queued for a reader; 256 by default. */
  readonly queue?: number | undefined;
  /**
   * The client's address if the socket belongs to an association, '' if the client has none. Such sockets leave a
   * reserve of descriptors for accepted connections, dials and DNS queries. Without room for another socket, one is
   * closed with an error in the order of `AssociationOrder`; if none may be closed, `bindUdp` throws `EMFILE`. Node's
   * sockets do not count descriptors, and ignore this.
   */
  readonly association?: string | undefined;
  /**
   * Whether datagrams to a peer are sent from the address that received the peer's last one, when the
   * socket is bound to all addresses: clients of a server expect that. Not supported by Node's sockets.
   */
  readonly respondsFromOwn?: boolean | undefined;
  /**
   * Examines every datagram before it is queued, so that foreign datagrams cannot fill the queue and a
   * framing is removed without a second queue. The packet it returns is queued; `undefined` drops the
   * datagram. It must not throw.
   */
  readonly incoming?:
    | ((data: Uint8Array, host: string, port: number) => Packet | undefined)
    | undefined;
}

/** A UDP socket as a PacketLink to any number of IP peers, with the bytes of its datagrams. */
export interface UdpSocket extends PacketLink, WireCounter {
  /** The bound address, the port that the kernel chose included. */
  readonly local: Endpoint;
}
