import type { Socket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import {
  type DatagramFeatures,
  type DatagramHandlers,
  type DatagramSocket,
  type DatagramSocketOptions,
  type ReceivedDatagrams,
  type SendResult,
  type Transmit,
  addressText,
  blankEndpoint,
  copyEndpoint,
  isIPv4Endpoint,
  isSameEndpoint,
  isWildcard,
  type IpEndpoint,
} from '@weir/base/ip';
import { isLinkLocal, numericEndpoint } from '../../addresses/addresses.ts';
import { MAX_UDP_PAYLOAD, MAX_UNSENT } from '../../bounds/queue-bounds.ts';
import { bindUdpSocket, closeUdpSocket, isTransient } from './udp-socket.ts';

const FEATURES: DatagramFeatures = {
  segmentation: false,
  coalescing: false,
  ownAddress: false,
  ecn: false,
  dontFragment: false,
  overflow: false,
};

/**
 * A DatagramSocket over node:dgram, for systems without batched system calls: sends and receives one
 * datagram at a time, has none of the features, and reports the own address of a received datagram
 * only when it is bound to that address.
 */
export class NodeDatagramSocket implements DatagramSocket {
  readonly local: IpEndpoint;
  readonly features = FEATURES;
  readonly closed: Promise<Error | undefined>;
  readonly overflowed = 0;
  readonly #socket: Socket;
  readonly #handlers: DatagramHandlers;
  readonly #isIPv6: boolean;
  readonly #dualStack: boolean;
  #dropped = 0;
  #ended = false;
  #waitsForRoom = false;
  #drainScheduled = false;
  #cause: Error | undefined;
  readonly #result: { -readonly [key in keyof SendResult]: SendResult[key] } = {
    done: 0,
    sentBytes: 0,
    full: false,
    tooLarge: 0,
    firstTooLarge: -1,
  };
  readonly #received: {
    -readonly [key in keyof ReceivedDatagrams]: ReceivedDatagrams[key];
  };
  // Successive datagrams mostly have one peer: its text and numbers are cached.
  #destination: IpEndpoint = blankEndpoint();
  #destinationText = '';
  #sourceText = '';

  /** Opens and binds a socket. @throws the system's error, as `bindUdpSocket` does. */
  static async bind(
    options: DatagramSocketOptions,
    handlers: DatagramHandlers,
  ): Promise<NodeDatagramSocket> {
    const { local, receiveBuffer, sendBuffer } = options;
    const address = addressText(local);
    const zone = local.scope === 0 ? undefined : zoneName(local.scope);
    const bound = await bindUdpSocket({
      family: isIPv4Endpoint(local) ? 4 : 6,
      address: zone === undefined ? address : `${address}%${zone}`,
      port: local.port,
      receiveBuffer,
      sendBuffer,
    });
    return new NodeDatagramSocket(bound, handlers);
  }

  /** @param socket bound by `bindUdpSocket`. */
  constructor(socket: Socket, handlers: DatagramHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    const { address, family, port } = socket.address();
    this.#isIPv6 = family === 'IPv6';
    this.local = numericEndpoint(address, port) ?? blankEndpoint();
    const isOnAll = isWildcard(this.local);
    this.#dualStack = this.#isIPv6 && isOnAll;
    this.#received = {
      peer: blankEndpoint(),
      buffer: new Uint8Array(0),
      offset: 0,
      length: 0,
      stride: 0,
      own: isOnAll ? undefined : this.local,
      ecn: 0,
    };
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

  send(transmits: readonly Transmit[], count = transmits.length, sentBytes = 0): SendResult {
    const result = this.#result;
    result.sentBytes = sentBytes;
    for (result.done = 0; result.done < count; result.done++) {
      const transmit = transmits[result.done] as Transmit; // within
      const { length, segmentSize } = transmit;
      const size = segmentSize > 0 ? segmentSize : Math.max(length, 1);
      if (!this.#canSend(transmit, size)) {
        this.#dropped += Math.max(1, Math.ceil((length - result.sentBytes) / size));
        result.sentBytes = 0;
        continue;
      }
      // An empty buffer is a datagram as well.
      do {
        if (this.#socket.getSendQueueCount() >= MAX_UNSENT) {
          this.#waitsForRoom = true;
          result.full = true;
          return result;
        }
        const end = Math.min(length, result.sentBytes + size);
        this.#sendOne(transmit, result.sentBytes, end);
        result.sentBytes = end;
      } while (result.sentBytes < length);
      result.sentBytes = 0;
    }
    result.full = false;
    return result;
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cause = cause;
    closeUdpSocket(this.#socket);
  }

  #canSend({ buffer, offset, length, destination, source }: Transmit, size: number): boolean {
    if (!(offset >= 0 && length >= 0 && offset + length <= buffer.length)) return false;
    const toIPv4 = isIPv4Endpoint(destination);
    if (Math.min(size, length) > MAX_UDP_PAYLOAD[toIPv4 ? 4 : 6]) return false;
    if (source !== undefined && isIPv4Endpoint(source) !== toIPv4) return false;
    return this.#aim(destination, toIPv4);
  }

  #sendOne({ buffer, offset }: Transmit, from: number, to: number): void {
    // A copy, since Node keeps a datagram that the kernel does not accept at once.
    const copy = Buffer.from(buffer.subarray(offset + from, offset + to));
    this.#socket.send(copy, this.#destination.port, this.#destinationText, this.#onSent);
  }

  readonly #onSent = (error: Error | null): void => {
    if (error) this.#dropped++;
    if (!this.#waitsForRoom || this.#ended) return;
    if (this.#socket.getSendQueueCount() >= MAX_UNSENT) return;
    this.#waitsForRoom = false;
    this.#handlers.onWritable?.();
  };

  /** Prepares the text of a destination; returns false when this socket cannot reach it. */
  #aim(to: IpEndpoint, isIPv4: boolean): boolean {
    if (this.#ended || !(to.port > 0 && to.port <= 0xffff)) return false;
    if (isSameEndpoint(to, this.#destination)) return true;
    if (isIPv4 ? this.#isIPv6 && !this.#dualStack : !this.#isIPv6) return false;
    const zone = to.scope === 0 ? undefined : zoneName(to.scope);
    if (to.scope !== 0 && zone === undefined) return false;
    const text = addressText(to);
    this.#destinationText = isIPv4 && this.#isIPv6 ? `::ffff:${text}` : text;
    if (zone !== undefined) this.#destinationText += `%${zone}`;
    this.#destination = copyEndpoint(to);
    return true;
  }

  #onMessage(data: Uint8Array, text: string, port: number): void {
    if (this.#ended) return;
    const received = this.#received;
    if (text !== this.#sourceText || port !== received.peer.port) {
      received.peer = numericEndpoint(text, port) ?? blankEndpoint();
      this.#sourceText = text;
    }
    received.buffer = data;
    received.length = data.length;
    received.stride = data.length;
    this.#handlers.onDatagrams(received);
    if (this.#drainScheduled || !this.#handlers.onDrained) return;
    this.#drainScheduled = true;
    // After all datagrams that libuv reads in this turn.
    setImmediate(this.#onDrained);
  }

  readonly #onDrained = (): void => {
    this.#drainScheduled = false;
    if (!this.#ended) this.#handlers.onDrained?.();
  };
}

const zoneName = (scope: number): string | undefined =>
  Object.entries(networkInterfaces()).find(([, addresses]) =>
    addresses?.some((each) => isLinkLocal(each) && each.scopeid === scope),
  )?.[0];
