import { EventEmitter } from 'node:events';
import type { DialError } from '@weir/io';
import type { Packet, PacketLink } from '@weir/io/links';
import { callHost } from './host-callback.ts';

/** The source or destination of a datagram. */
export interface DatagramPeer {
  /** A host name, or an IP address; received datagrams have what the outbound reports. */
  readonly host: string;
  readonly port: number;
}

/** A received datagram. */
export interface Datagram extends DatagramPeer {
  readonly data: Buffer;
}

interface AssociationEvents {
  message: [data: Buffer, from: DatagramPeer];
  /** Datagrams to a peer were dropped, since no outbound could be opened for them. */
  unreachable: [error: DialError, peer: DatagramPeer];
  /** The association has ended, with the error if it was not closed by `close`. */
  close: [error: Error | undefined];
}

const MAX_PORT = 65_535;

/**
 * Datagrams to and from any number of peers, each routed like a flow; those that leave by the same outbound share one.
 *
 * Received datagrams are read by listening to `message`, or with `for await`. Until then at most 256 of them, or 1 MiB,
 * are kept; further ones are dropped and counted.
 */
export class WeirAssociation
  extends EventEmitter<AssociationEvents>
  implements AsyncIterable<Datagram, void>, AsyncDisposable
{
  readonly #link: PacketLink;
  #reader: 'events' | 'iterator' | undefined;

  /** @internal */
  constructor(open: (onFailure: (peer: DatagramPeer, error: DialError) => void) => PacketLink) {
    super();
    this.#link = open((peer, error) => callHost(() => this.emit('unreachable', error, peer)));
    void this.#link.closed.then((cause) => callHost(() => this.emit('close', cause)));
    this.on('newListener', (event: string | symbol) => {
      if (event === 'message') this.#readByEvents();
    });
  }

  /** Number of datagrams that were dropped on this host, in either direction, because a queue was full. */
  get dropped(): number {
    return this.#link.dropped;
  }

  /**
   * Sends a datagram, of which a copy is made. It never waits: a datagram that cannot be queued is dropped, also after
   * `close`.
   * @throws {RangeError} for an invalid port
   */
  send(data: Uint8Array | string, { host, port }: DatagramPeer): void {
    if (typeof host !== 'string') throw new TypeError('host must be a string');
    if (!Number.isInteger(port) || port < 1 || port > MAX_PORT) {
      throw new RangeError(`${port} is not a port`);
    }
    // Buffer.from copies an array, and a string's memory is new.
    const copy = typeof data === 'string' ? Buffer.from(data) : Buffer.from(data);
    this.#link.send({ data: copy, peer: { host, port } });
  }

  /** Ends the association. Idempotent. */
  close(): void {
    this.#link.close();
  }

  /** Reads the datagrams; leaving the loop closes the association. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Datagram, void> {
    if (this.#reader) throw new TypeError('the datagrams of this association are read already');
    this.#reader = 'iterator';
    try {
      for (let packet = await this.#link.receive(); packet; packet = await this.#link.receive()) {
        yield { data: bufferOf(packet), host: packet.peer.host, port: packet.peer.port };
      }
    } finally {
      this.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  #readByEvents(): void {
    if (this.#reader === 'events') return;
    if (this.#reader) throw new TypeError('the datagrams of this association are read already');
    this.#reader = 'events';
    // The listener is added after this event.
    queueMicrotask(() => {
      const take = (packet: Packet): void =>
        callHost(() => this.emit('message', bufferOf(packet), packet.peer));
      // `close` reports a failure of the link.
      this.#link.receiveAll(take).catch(() => undefined);
    });
  }
}

const bufferOf = ({ data }: Packet): Buffer =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength);
