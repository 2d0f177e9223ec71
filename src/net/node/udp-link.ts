import { createSocket, type Socket } from 'node:dgram';
import { codeOf } from '../../errors.ts';
import { ipVersion, unmapIPv4, type Endpoint } from '../address.ts';
import type { Packet } from '../link.ts';
import type { UdpBindOptions, UdpSocket } from '../sockets.ts';
import { PacketQueue } from '../packet-queue.ts';

/**
 * What the kernel is asked to hold while the event loop is busy: a burst of several hundred full
 * datagrams. The send buffer stays as it is, since more of it only delays what is sent.
 */
const RECEIVE_BUFFER = 1024 * 1024;
/** Datagrams that may wait in libuv when the kernel takes no more; beyond it `send` drops. */
const MAX_UNSENT = 256;
/** The largest UDP payload below IPv4 (RFC 768) and IPv6 (RFC 8200), without jumbograms. */
const MAX_PAYLOAD = { 4: 65_507, 6: 65_527 } as const;

/**
 * Failures of single datagrams, reported by a later receive (ICMP answers, an interface that went
 * away, memory pressure): the socket is as good as before.
 */
const PASSING_ERRORS: ReadonlySet<string | undefined> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMSGSIZE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOBUFS',
  'ENOMEM',
  'EPERM',
  'EPROTO',
]);

/**
 * A UDP socket as a PacketLink to any number of IP peers.
 *
 * A datagram for a domain name, for port 0, for a family that the socket does not reach or beyond
 * the size of UDP is dropped and counted: callers resolve names first. `bytesRead` and
 * `bytesWritten` are UDP payload, of accepted datagrams only.
 */
export class UdpLink implements UdpSocket {
  /** The bound address, the port that the kernel chose included. */
  readonly local: Endpoint;
  readonly closed: Promise<Error | undefined>;
  readonly #socket: Socket;
  readonly #family: 4 | 6;
  readonly #dualStack: boolean;
  readonly #queue: PacketQueue;
  readonly #incoming: UdpBindOptions['incoming'];
  #bytesRead = 0;
  #bytesWritten = 0;
  #refused = 0;
  #ended = false;
  #cause: Error | undefined;
  // Most links speak with one peer for long stretches: its last form is kept, so that a datagram
  // costs no parsing of addresses and no new objects.
  #lastTarget: Endpoint | undefined;
  #lastTargetHost = '';
  #lastSource: Endpoint = { host: '', port: 0 };
  #lastSourceText = '';

  /**
   * Opens and binds a socket.
   * @throws the system's error (`EADDRINUSE`, `EADDRNOTAVAIL`, `EAFNOSUPPORT` without IPv6).
   */
  static async bind(options: UdpBindOptions): Promise<UdpLink> {
    const { family, address = family === 4 ? '0.0.0.0' : '::', port = 0 } = options;
    const socket = createSocket({
      type: family === 4 ? 'udp4' : 'udp6',
      // Only IP literals arrive here. Answering at once keeps `send` free of a DNS lookup and of
      // the tick that Node 24 spends on literals too.
      lookup: (host, _options, callback) => callback(null, host, family),
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.once('error', reject);
    socket.once('listening', resolve);
    try {
      // Exclusive: a cluster worker must not share the socket of an association.
      socket.bind({ address, port, exclusive: true });
      await promise;
    } catch (error) {
      socket.close();
      throw error;
    }
    socket.off('error', reject);
    return new UdpLink(socket, options, address);
  }

  private constructor(socket: Socket, options: UdpBindOptions, address: string) {
    this.#socket = socket;
    this.#family = options.family;
    this.#dualStack = options.family === 6 && address === '::';
    this.#queue = new PacketQueue(options.queue);
    this.#incoming = options.incoming;
    const bound = socket.address();
    this.local = { host: bound.address, port: bound.port };
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    socket.on('message', (data, { address: host, port }) => this.#onMessage(data, host, port));
    socket.on('error', (error) => {
      if (!PASSING_ERRORS.has(codeOf(error))) this.close(error);
    });
    socket.on('close', () => resolve(this.#cause));
    try {
      socket.setRecvBufferSize(RECEIVE_BUFFER);
    } catch {
      // A wish: systems that refuse more than their limit keep their default.
    }
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
      data.length > MAX_PAYLOAD[this.#family] ||
      this.#socket.getSendQueueCount() >= MAX_UNSENT
    ) {
      this.#refused++;
      return;
    }
    // Without a callback Node keeps the failure of one datagram to itself, which is what is wanted.
    this.#socket.send(data, peer.port, this.#lastTargetHost);
    this.#bytesWritten += data.length;
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cause = cause;
    this.#queue.end(cause);
    this.#socket.close();
  }

  /** Prepares the text of a peer's address as this socket needs it; false when it cannot. */
  #aim(peer: Endpoint): boolean {
    if (!(peer.port > 0 && peer.port <= 0xffff)) return false;
    const host = unmapIPv4(peer.host);
    const version = ipVersion(host);
    if (version === this.#family) this.#lastTargetHost = host;
    else if (version === 4 && this.#dualStack) this.#lastTargetHost = `::ffff:${host}`;
    else return false;
    this.#lastTarget = peer;
    return true;
  }

  #onMessage(data: Uint8Array, text: string, port: number): void {
    if (this.#ended) return;
    let source = this.#lastSource;
    if (text !== this.#lastSourceText || port !== source.port) {
      source = { host: this.#dualStack ? unmapIPv4(text) : text, port };
      this.#lastSource = source;
      this.#lastSourceText = text;
    }
    const packet = this.#incoming
      ? this.#incoming(data, source.host, port)
      : { data, peer: source };
    if (packet === undefined) {
      this.#refused++;
      return;
    }
    this.#bytesRead += data.length;
    this.#queue.push(packet);
  }
}
