import { createSocket, type Socket } from 'node:dgram';
import { codeOf } from '@weir/base';
import { type Endpoint, unmapIPv4 } from '../../addresses/addresses.ts';
import { MAX_UDP_PAYLOAD, MAX_UNSENT, UDP_RECEIVE_BUFFER } from '../../bounds/queue-bounds.ts';
import type { Packet } from '../../links/link.ts';
import { reachable, ReceivedUdp, type UdpReach } from '../../packets/packets.ts';
import type { UdpBindOptions, UdpSocket } from '../sockets.ts';
import { type Claim, claimPassed } from '../../../platform/passed-sockets.ts';

/** Options of a UDP socket to bind. */
interface UdpSocketOptions {
  readonly family: 4 | 6;
  /**
   * The local IP address; by default every address of the family. The IPv6 wildcard `::` is dual
   * stack: it reaches and is reached by IPv4 peers as well.
   */
  readonly address?: string | undefined;
  /** The local port; 0, the default, lets the kernel choose. */
  readonly port?: number | undefined;
  /**
   * Buffers requested of the kernel, in bytes; UDP_RECEIVE_BUFFER for receiving and the kernel's own default for
   * sending.
   */
  readonly receiveBuffer?: number | undefined;
  readonly sendBuffer?: number | undefined;
}

/**
 * Failures of single datagrams, reported by a later receive (ICMP errors, an interface that went
 * away, memory pressure): the socket remains usable.
 */
const TRANSIENT_ERRORS: ReadonlySet<string | undefined> = new Set([
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

export const isTransient = (error: Error): boolean => TRANSIENT_ERRORS.has(codeOf(error));

/** Returns the wildcard address of a family. */
const wildcardOf = (family: 4 | 6): string => (family === 4 ? '0.0.0.0' : '::');

/**
 * Opens and binds a socket of Node that sends only to IP literals.
 * @throws the system's error (`EADDRINUSE`, `EADDRNOTAVAIL`, `EAFNOSUPPORT` without IPv6).
 */
export async function bindUdpSocket(options: UdpSocketOptions): Promise<Socket> {
  const { family, address = wildcardOf(family), port = 0 } = options;
  const socket = createSocket({
    type: family === 4 ? 'udp4' : 'udp6',
    // Calling back at once keeps `send` free of a DNS lookup and of the tick that Node 24 spends on
    // literals too.
    lookup: (host, _options, callback) => callback(null, host, family),
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('error', reject);
  socket.once('listening', resolve);
  const claim = claimPassed('datagram', { host: address, port });
  if (claim) claims.set(socket, claim);
  try {
    // Exclusive: a cluster worker must not share the socket of an association.
    socket.bind({ ...(claim ? { fd: claim.fd } : { address, port }), exclusive: true });
    await promise;
  } catch (error) {
    closeUdpSocket(socket);
    throw error;
  }
  socket.off('error', reject);
  try {
    socket.setRecvBufferSize(options.receiveBuffer ?? UDP_RECEIVE_BUFFER);
    if (options.sendBuffer !== undefined) socket.setSendBufferSize(options.sendBuffer);
  } catch {
    // Not essential: systems that reject a size above their limit keep their default.
  }
  return socket;
}

/** Closes a socket of `bindUdpSocket`; its address is free when this returns. */
export function closeUdpSocket(socket: Socket): void {
  socket.close();
  claims.get(socket)?.release();
}

/** Claims on sockets passed by a service manager. */
const claims = new WeakMap<Socket, Claim>();

/**
 * Connects a bound socket to its one peer, and closes it on failure.
 * @throws the system's error (`ENETUNREACH`).
 */
async function connectUdpSocket(socket: Socket, { host, port }: Endpoint): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  try {
    socket.connect(port, host, (error?: Error) => {
      if (error) reject(error);
      else resolve();
    });
    await promise;
  } catch (error) {
    closeUdpSocket(socket);
    throw error;
  }
}

/**
 * A UDP socket as a PacketLink to any number of IP peers.
 *
 * A datagram to a domain name, to port 0, to a family that the socket does not reach, or longer than UDP permits is
 * dropped and counted: callers resolve names first. `bytesRead` and `bytesWritten` are UDP payload, of accepted
 * datagrams only.
 */
export class UdpLink extends ReceivedUdp implements UdpSocket {
  /** The bound address, the port that the kernel chose included. */
  readonly local: Endpoint;
  readonly closed: Promise<Error | undefined>;
  readonly #socket: Socket;
  readonly #isConnected: boolean;
  readonly #reach: UdpReach;
  #ended = false;
  #cause: Error | undefined;
  // Successive datagrams mostly have one peer: its address is cached in each form, so that a datagram needs no
  // parsing of addresses and no new objects.
  #lastTarget: Endpoint | undefined;
  #lastTargetHost = '';
  #lastSource: Endpoint = { host: '', port: 0 };
  #lastSourceText = '';

  /**
   * Opens and binds a socket.
   * @throws the system's error, as `bindUdpSocket` does. (`override`: every function has a `bind`.)
   */
  static override async bind(options: UdpBindOptions): Promise<UdpLink> {
    const socket = await bindUdpSocket(options);
    if (options.peer) await connectUdpSocket(socket, options.peer);
    return new UdpLink(socket, options);
  }

  private constructor(socket: Socket, options: UdpBindOptions) {
    super(options);
    this.#socket = socket;
    this.#isConnected = options.peer !== undefined;
    const bound = socket.address();
    this.#reach = { family: options.family, dualStack: bound.address === '::' };
    this.local = { host: bound.address, port: bound.port };
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    socket.on('message', (data, { address: host, port }) => this.#onMessage(data, host, port));
    socket.on('error', (error) => {
      if (!isTransient(error) || (this.#isConnected && codeOf(error) === 'ECONNREFUSED')) {
        this.close(error);
      }
    });
    socket.on('close', () => resolve(this.#cause));
  }

  send({ data, peer }: Packet): void {
    if (
      this.#ended ||
      (peer !== this.#lastTarget && !this.#aim(peer)) ||
      data.length > MAX_UDP_PAYLOAD[this.#reach.family] ||
      this.#socket.getSendQueueCount() >= MAX_UNSENT
    ) {
      this.refused++;
      return;
    }
    // Without a callback Node ignores the failure of one datagram, as a lost datagram should be.
    if (this.#isConnected) this.#socket.send(data);
    else this.#socket.send(data, peer.port, this.#lastTargetHost);
    this.bytesWritten += data.length;
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cause = cause;
    this.queue.end(cause);
    closeUdpSocket(this.#socket);
  }

  /** Prepares the text of a peer's address for this socket; returns false when the socket cannot reach it. */
  #aim(peer: Endpoint): boolean {
    const host = reachable(this.#reach, peer);
    if (host === undefined) return false;
    const isMapped = this.#reach.family === 6 && !host.includes(':');
    this.#lastTargetHost = isMapped ? `::ffff:${host}` : host;
    this.#lastTarget = peer;
    return true;
  }

  #onMessage(data: Uint8Array, text: string, port: number): void {
    if (this.#ended) return;
    let source = this.#lastSource;
    if (text !== this.#lastSourceText || port !== source.port) {
      source = { host: this.#reach.dualStack ? unmapIPv4(text) : text, port };
      this.#lastSource = source;
      this.#lastSourceText = text;
    }
    this.deliver(data, source);
  }
}
