import type { SystemError } from '../../platform/sockets/errno.ts';
import type { ReceivedDatagram, Transmit } from '../../platform/sockets/datagram-batch.ts';
import { DatagramSocket } from '../../platform/sockets/datagram-socket.ts';
import type { KernelIo } from '../../platform/sockets/kernel-io.ts';
import { ipVersion, unmapIPv4, type Endpoint } from '../address.ts';
import type { Packet } from '../link.ts';
import { PacketQueue } from '../packet-queue.ts';
import { MAX_UDP_PAYLOAD, MAX_UNSENT, UDP_RECEIVE_BUFFER } from '../socket-limits.ts';
import type { UdpBindOptions, UdpSocket } from '../sockets.ts';

/** Datagrams that wait for the end of a turn, to leave with one call. */
const GATHERED = 64;
/** Peers whose last destination is remembered; the one that was heard least recently is forgotten. */
const MOST_PEERS = 4096;

/**
 * Failures that end the socket; all others are those of single datagrams (ICMP answers, an interface
 * that went away, memory pressure).
 */
const FATAL: ReadonlySet<string> = new Set(['EBADF', 'ENOTSOCK', 'EINVAL', 'EFAULT']);

/**
 * A UDP socket of the kernel layer as a PacketLink, with the promise of `UdpLink`: datagrams come
 * and go in batches, those that one turn sends with one call.
 */
export class KernelUdpLink implements UdpSocket {
  /** The bound address, the port that the kernel chose included. */
  readonly local: Endpoint;
  readonly closed: Promise<Error | undefined>;
  readonly #socket: DatagramSocket;
  readonly #family: 4 | 6;
  readonly #dualStack: boolean;
  readonly #queue: PacketQueue;
  readonly #incoming: UdpBindOptions['incoming'];
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #outgoing: Transmit[] = [];
  #scheduled = false;
  /** The kernel takes no more for now. */
  #full = false;
  #bytesRead = 0;
  #bytesWritten = 0;
  #refused = 0;
  #ended = false;
  // Most links exchange datagrams with one peer for long stretches.
  #lastTarget: Endpoint | undefined;
  #lastDestination: Endpoint = { host: '', port: 0 };
  /** The own address that each peer's last datagram came to; where responses leave from it. */
  readonly #ownOf: Map<string, string> | undefined;
  #lastFrom: Endpoint | undefined;
  #lastOwn: string | undefined;

  /**
   * Opens and binds a socket.
   * @throws {SystemError} (`EADDRINUSE`, `EADDRNOTAVAIL`, `EAFNOSUPPORT` without IPv6).
   */
  static bind(io: KernelIo, options: UdpBindOptions): KernelUdpLink {
    return new KernelUdpLink(io, options);
  }

  private constructor(io: KernelIo, options: UdpBindOptions) {
    const { family, address = family === 4 ? '0.0.0.0' : '::', port = 0 } = options;
    this.#family = family;
    this.#dualStack = family === 6 && address === '::';
    const isWildcard = address === '::' || address === '0.0.0.0';
    if (options.respondsFromOwn && isWildcard) this.#ownOf = new Map();
    this.#queue = new PacketQueue(options.queue);
    this.#incoming = options.incoming;
    this.#socket = new DatagramSocket(io, {
      local: { host: address, port },
      receiveBuffer: UDP_RECEIVE_BUFFER,
      details: this.#ownOf !== undefined,
      onDatagram: (datagram) => this.#onDatagram(datagram),
      onWritable: () => {
        this.#full = false;
        this.#flush();
      },
      onError: (error: SystemError) => {
        if (FATAL.has(error.code)) this.close(error);
      },
    });
    this.local = this.#socket.local;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  get dropped(): number {
    return this.#refused + this.#queue.dropped;
  }

  receive(): Promise<Packet | undefined> {
    return this.#queue.take();
  }

  send({ data, peer }: Packet): void {
    if (
      this.#ended ||
      (peer !== this.#lastTarget && !this.#aim(peer)) ||
      data.length > MAX_UDP_PAYLOAD[this.#family] ||
      this.#outgoing.length >= MAX_UNSENT
    ) {
      this.#refused++;
      return;
    }
    const source = this.#ownOf?.get(keyOf(this.#lastDestination));
    this.#outgoing.push({ destination: this.#lastDestination, bytes: data, source });
    this.#bytesWritten += data.length;
    if (this.#full) return;
    if (this.#outgoing.length >= GATHERED) this.#flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      // Behind everything that the promises of this turn send.
      process.nextTick(this.#onTurnEnd);
    }
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    // What was accepted leaves before the socket does, as far as the kernel takes it.
    this.#flush();
    this.#ended = true;
    this.#outgoing = [];
    this.#queue.end(cause);
    this.#socket.close();
    this.#resolveClosed(cause);
  }

  readonly #onTurnEnd = (): void => {
    this.#scheduled = false;
    this.#flush();
  };

  #remember(from: Endpoint, own: string): void {
    const known = this.#ownOf;
    if (!known) return;
    this.#lastFrom = from;
    this.#lastOwn = own;
    const key = keyOf(from);
    known.delete(key); // to be the last in order
    known.set(key, own);
    if (known.size <= MOST_PEERS) return;
    for (const [oldest] of known) {
      known.delete(oldest);
      break;
    }
  }

  #flush(): void {
    if (this.#outgoing.length === 0 || this.#full || this.#ended) return;
    const { done, full } = this.#socket.send(this.#outgoing);
    this.#full = full;
    if (done === this.#outgoing.length) this.#outgoing = [];
    else this.#outgoing.splice(0, done);
  }

  /** Prepares a peer's address for this socket; false when it cannot reach it. */
  #aim(peer: Endpoint): boolean {
    if (!(peer.port > 0 && peer.port <= 0xffff)) return false;
    const host = unmapIPv4(peer.host);
    const version = ipVersion(host);
    if (version !== this.#family && !(version === 4 && this.#dualStack)) return false;
    this.#lastDestination = { host, port: peer.port };
    this.#lastTarget = peer;
    return true;
  }

  #onDatagram({ buffer, start, length, from, own }: ReceivedDatagram): void {
    if (this.#ended) return;
    if (own !== undefined && (from !== this.#lastFrom || own !== this.#lastOwn)) {
      this.#remember(from, own);
    }
    const data = Buffer.allocUnsafe(length);
    buffer.copy(data, 0, start, start + length);
    const packet = this.#incoming
      ? this.#incoming(data, from.host, from.port)
      : { data, peer: from };
    if (packet === undefined) {
      this.#refused++;
      return;
    }
    this.#bytesRead += length;
    this.#queue.push(packet);
  }
}

const keyOf = ({ host, port }: Endpoint): string => `${host} ${port}`;
