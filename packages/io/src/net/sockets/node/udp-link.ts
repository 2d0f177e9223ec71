import type { Socket } from 'node:dgram';
import { codeOf } from '@weir/base';
import { unmapIPv4, type Endpoint } from '../../addresses/address.ts';
import type { Packet } from '../../links/link.ts';
import { ReceivedUdp, reachable, type UdpReach } from '../received-udp.ts';
import type { UdpBindOptions, UdpSocket } from '../sockets.ts';
import { MAX_UDP_PAYLOAD, MAX_UNSENT } from '../socket-limits.ts';
import { bindUdpSocket, closeUdpSocket, connectUdpSocket, isTransient } from './udp-socket.ts';

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
