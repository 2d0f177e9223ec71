import type { Socket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import { formatIP, parseIP, unmapIPv4 } from '../address.ts';
import type {
  DatagramHandlers,
  DatagramSocket,
  NumericEndpoint,
  SendResult,
  Transmit,
} from '../datagram-socket.ts';
import { MAX_UDP_PAYLOAD, MAX_UNSENT } from '../socket-limits.ts';
import { bindUdpSocket, isTransient, type UdpSocketOptions } from './udp-socket.ts';

const NO_ENDPOINT: NumericEndpoint = { address: new Uint8Array(4), port: 0, scope: 0 };

/**
 * A DatagramSocket over node:dgram, for systems without batched system calls: sends and receives one
 * datagram at a time, sets no source and no ECN bits, and knows the own address of a received
 * datagram only when it is bound to that address.
 */
export class NodeDatagramSocket implements DatagramSocket {
  readonly local: NumericEndpoint;
  readonly closed: Promise<Error | undefined>;
  readonly overflowed = 0;
  readonly #socket: Socket;
  readonly #handlers: DatagramHandlers;
  readonly #family: 4 | 6;
  readonly #dualStack: boolean;
  /** The own address of all received datagrams; `undefined` on a wildcard address. */
  readonly #own: Uint8Array | undefined;
  #dropped = 0;
  #ended = false;
  #waitsForRoom = false;
  #cause: Error | undefined;
  // Successive datagrams mostly have one peer: its last text and numbers are kept.
  #destination: NumericEndpoint = NO_ENDPOINT;
  #destinationText = '';
  #source: NumericEndpoint = NO_ENDPOINT;
  #sourceText = '';

  /** @throws the system's error, as `bindUdpSocket` does. */
  static async bind(
    options: UdpSocketOptions,
    handlers: DatagramHandlers,
  ): Promise<NodeDatagramSocket> {
    return new NodeDatagramSocket(await bindUdpSocket(options), handlers);
  }

  /** @param socket bound by `bindUdpSocket`. */
  constructor(socket: Socket, handlers: DatagramHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    const { address, family, port } = socket.address();
    this.#family = family === 'IPv6' ? 6 : 4;
    this.#dualStack = address === '::';
    this.local = toNumeric(address, port);
    this.#own = this.local.address.some((byte) => byte !== 0) ? this.local.address : undefined;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    socket.on('message', (data, source) => this.#onMessage(data, source.address, source.port));
    socket.on('error', (error) => {
      if (!isTransient(error)) this.close(error);
    });
    socket.on('close', () => resolve(this.#cause));
  }

  get dropped(): number {
    return this.#dropped;
  }

  send(transmits: readonly Transmit[], offset = 0): SendResult {
    let start = offset;
    for (const [index, transmit] of transmits.entries()) {
      const { data, segmentSize = data.length } = transmit;
      const isReached = this.#aim(transmit.destination) && isLength(segmentSize, data.length);
      // An empty buffer is a datagram, too.
      do {
        if (this.#socketIsFull) {
          this.#waitsForRoom = true;
          return { done: index, offset: start, full: true };
        }
        const end = isReached ? Math.min(data.length, start + segmentSize) : data.length;
        if (isReached) this.#sendOne(data.subarray(start, end));
        else this.#dropped += countOf(data.length - start, segmentSize);
        start = end;
      } while (start < data.length);
      start = 0;
    }
    return { done: transmits.length, offset: 0, full: false };
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cause = cause;
    this.#socket.close();
  }

  get #socketIsFull(): boolean {
    return !this.#ended && this.#socket.getSendQueueCount() >= MAX_UNSENT;
  }

  #sendOne(data: Uint8Array): void {
    if (data.length > MAX_UDP_PAYLOAD[this.#family]) {
      this.#dropped++;
      return;
    }
    // A copy, since Node keeps what the kernel does not take at once.
    const copy = Buffer.from(data);
    this.#socket.send(copy, this.#destination.port, this.#destinationText, this.#onSent);
  }

  readonly #onSent = (error: Error | null): void => {
    if (error) this.#dropped++;
    if (!this.#waitsForRoom || this.#ended || this.#socketIsFull) return;
    this.#waitsForRoom = false;
    this.#handlers.onWritable?.();
  };

  /** Prepares the text of a destination; false when this socket does not reach it. */
  #aim(to: NumericEndpoint): boolean {
    if (this.#ended || !(to.port > 0 && to.port <= 0xffff)) return false;
    if (isSame(to, this.#destination)) return true;
    const isIPv4 = to.address.length === 4;
    if (isIPv4 ? this.#family === 6 && !this.#dualStack : this.#family === 4) return false;
    if (!isIPv4 && to.address.length !== 16) return false;
    const zone = to.scope === 0 ? undefined : zoneName(to.scope);
    if (to.scope !== 0 && zone === undefined) return false;
    const text = formatIP(to.address);
    this.#destinationText = isIPv4 && this.#dualStack ? `::ffff:${text}` : text;
    if (zone !== undefined) this.#destinationText += `%${zone}`;
    this.#destination = { ...to, address: Uint8Array.from(to.address) };
    return true;
  }

  #onMessage(data: Uint8Array, text: string, port: number): void {
    if (this.#ended) return;
    if (text !== this.#sourceText || port !== this.#source.port) {
      this.#source = toNumeric(text, port);
      this.#sourceText = text;
    }
    this.#handlers.onDatagrams({
      peer: this.#source,
      data,
      stride: data.length,
      local: this.#own,
      ecn: 0,
    });
  }
}

const isLength = (segmentSize: number, length: number): boolean => segmentSize > 0 || length === 0;

/** Datagrams in so many bytes. */
const countOf = (length: number, segmentSize: number): number =>
  segmentSize > 0 ? Math.max(1, Math.ceil(length / segmentSize)) : 1;

function isSame(one: NumericEndpoint, other: NumericEndpoint): boolean {
  const { address } = one;
  if (one.port !== other.port || one.scope !== other.scope) return false;
  return (
    address.length === other.address.length &&
    address.every((byte, index) => byte === other.address[index])
  );
}

/** An address as Node reports it, with its zone if it has one. */
function toNumeric(text: string, port: number): NumericEndpoint {
  const [host = '', zone] = unmapIPv4(text).split('%', 2);
  const scope = zone === undefined ? 0 : scopeOf(zone);
  return { address: parseIP(host) ?? NO_ENDPOINT.address, port, scope };
}

const scopeOf = (zone: string): number =>
  networkInterfaces()[zone]?.find(isLinkLocal)?.scopeid ?? 0;

const zoneName = (scope: number): string | undefined =>
  Object.entries(networkInterfaces()).find(([, addresses]) =>
    addresses?.some((each) => isLinkLocal(each) && each.scopeid === scope),
  )?.[0];

const isLinkLocal = ({ scopeid }: { readonly scopeid?: number | undefined }): boolean =>
  scopeid !== undefined && scopeid !== 0;
