import { asError } from '@weir/base';
import { type Endpoint, ipVersion, unmapIPv4 } from '../addresses/addresses.ts';
import { keptData, UnsentDatagrams } from '../bounds/queue-bounds.ts';
import { UnitCost, UnitShare } from '../bounds/units.ts';
import { LinkClosedError } from '../errors.ts';
import type { ByteLink, Packet, PacketLink } from '../links/link.ts';
import type { UdpBindOptions } from '../sockets/sockets.ts';

/** A consumer that receives every datagram as it arrives, until `ended` settles. */
interface Taker {
  readonly take: (packet: Packet) => void;
  readonly ended: PromiseWithResolvers<void>;
}

/** `receive` and `receiveAll` of a PacketLink, one of which may be pending. */
export abstract class ReceivingPackets {
  #next: PromiseWithResolvers<Packet | undefined> | undefined;
  #taker: Taker | undefined;
  #isEnded = false;
  #cause: Error | undefined;

  /** Removes and returns the oldest queued datagram. */
  protected abstract shift(): Packet | undefined;

  /** Returns the next datagram, `undefined` after the end; rejects when it ended with a cause. */
  receive(): Promise<Packet | undefined> {
    if (this.#isPending()) return Promise.reject(alreadyPending());
    if (this.#cause) return Promise.reject(this.#cause);
    if (this.#isEnded) return Promise.resolve(undefined);
    const packet = this.shift();
    if (packet) return Promise.resolve(packet);
    this.#next = Promise.withResolvers();
    return this.#next.promise;
  }

  /**
   * Passes every datagram to `take` from now on. Resolves at the end; rejects with the cause of the end, or with the
   * error of `take`, which ends it.
   */
  receiveAll(take: (packet: Packet) => void): Promise<void> {
    if (this.#isPending()) return Promise.reject(alreadyPending());
    if (this.#cause) return Promise.reject(this.#cause);
    if (this.#isEnded) return Promise.resolve();
    const ended = Promise.withResolvers<void>();
    this.#taker = { take, ended };
    this.passWaiting();
    return ended.promise;
  }

  protected get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Passes a datagram to the pending receive; returns false when there is none. */
  protected pass(packet: Packet): boolean {
    if (this.#taker) {
      try {
        this.#taker.take(packet);
      } catch (error) {
        this.endReceiving(asError(error));
      }
      return true;
    }
    const next = this.#next;
    this.#next = undefined;
    next?.resolve(packet);
    return next !== undefined;
  }

  /** Passes the queued datagrams while a receive is pending. */
  protected passWaiting(): void {
    while (this.#isPending()) {
      const packet = this.shift();
      if (!packet) return;
      this.pass(packet);
    }
  }

  /** Settles the pending receive and every later one. Idempotent. */
  protected endReceiving(cause: Error | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cause = cause;
    const [next, taker] = [this.#next, this.#taker];
    this.#next = undefined;
    this.#taker = undefined;
    if (cause) {
      next?.reject(cause);
      taker?.ended.reject(cause);
    } else {
      next?.resolve(undefined);
      taker?.ended.resolve();
    }
  }

  #isPending(): boolean {
    return this.#next !== undefined || this.#taker !== undefined;
  }
}

const alreadyPending = (): LinkClosedError => new LinkClosedError('a receive is already pending');

/** Datagrams that may be queued for a reader. */
const MAX_PACKETS = 256;
/** Bytes that may be queued for a reader: a queue of large datagrams must not hold 16 MiB. */
const MAX_BYTES = 1024 * 1024;

/**
 * The receiving half of a PacketLink: bounded in datagrams and bytes; when it is full the newest datagram is dropped
 * and counted.
 *
 * The newest, because the queued ones are in order and will be read, and because it costs nothing: a reader that is
 * late loses as many either way.
 */
export class PacketQueue extends ReceivingPackets {
  readonly #packets: Packet[] = [];
  readonly #limit: number;
  #bytes = 0;
  #dropped = 0;

  constructor(limit = MAX_PACKETS) {
    super();
    this.#limit = limit;
  }

  /** Number of datagrams that were dropped because the queue was full or had ended. */
  get dropped(): number {
    return this.#dropped;
  }

  push(packet: Packet): void {
    if (this.pass(packet)) return;
    if (
      this.isEnded ||
      this.#packets.length >= this.#limit ||
      this.#bytes + packet.data.length > MAX_BYTES
    ) {
      this.#dropped++;
      return;
    }
    const data = keptData(packet.data);
    this.#bytes += data.length;
    this.#packets.push(data === packet.data ? packet : { data, peer: packet.peer });
  }

  /** Drops queued datagrams; settles the pending receive and every later one. Idempotent. */
  end(cause?: Error): void {
    this.endReceiving(cause);
  }

  protected override endReceiving(cause: Error | undefined): void {
    this.#packets.length = 0;
    super.endReceiving(cause);
  }

  protected override shift(): Packet | undefined {
    const packet = this.#packets.shift();
    if (packet) this.#bytes -= packet.data.length;
    return packet;
  }
}

/** The receiving half of PacketLinks that queue incoming datagrams, and their count of dropped ones. */
export abstract class QueuedPackets {
  protected readonly queue: PacketQueue;
  /** Number of datagrams that were dropped before the queue, in either direction. */
  protected refused = 0;

  /** @param limit datagrams that may be queued; 256 by default. */
  constructor(limit?: number) {
    this.queue = new PacketQueue(limit);
  }

  get dropped(): number {
    return this.refused + this.queue.dropped;
  }

  receive(): Promise<Packet | undefined> {
    return this.queue.receive();
  }

  receiveAll(take: (packet: Packet) => void): Promise<void> {
    return this.queue.receiveAll(take);
  }
}

/** The encoding of datagrams in a stream of bytes. One instance belongs to one link. */
export interface PacketFraming {
  /**
   * Decodes a chunk into the datagrams that it completes; `undefined` for a datagram that cannot be passed on.
   * @throws {ProtocolError} when the framing is invalid.
   */
  decode(chunk: Uint8Array): Iterable<Packet | undefined>;
  /** Encodes a datagram into the chunks of a frame; `undefined` when it does not fit into one. */
  encode(packet: Packet): readonly Uint8Array[] | undefined;
}

/**
 * Datagrams over a byte link. When the reader or the carrier does not keep up, the newest datagrams
 * are dropped. The link ends with its carrier, and the carrier with the link.
 */
export class FramedPackets extends QueuedPackets implements PacketLink {
  readonly closed: Promise<Error | undefined>;
  readonly #link: ByteLink;
  readonly #framing: PacketFraming;
  readonly #units: UnitShare;
  readonly #unsent = new UnsentDatagrams((error) => this.close(asError(error)));
  #ended = false;
  #cause: Error | undefined;

  /** @param holder the owner of the datagrams, as for `UnitShare`. */
  constructor(link: ByteLink, framing: PacketFraming, holder?: unknown) {
    super();
    this.#units = new UnitShare(holder);
    this.#link = link;
    this.#framing = framing;
    this.closed = link.closed.then((cause) => (this.#ended ? this.#cause : cause));
    void this.#pump();
  }

  send(packet: Packet): void {
    const pieces = this.#ended || !this.#unsent.hasRoom ? undefined : this.#framing.encode(packet);
    if (!pieces) {
      this.refused++;
      return;
    }
    const full = this.#link.writeOutput(pieces);
    if (full) this.#unsent.add(packet.data.length, full);
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cause = cause;
    this.queue.end(cause);
    this.#link.destroy(cause);
  }

  async #pump(): Promise<void> {
    try {
      for (;;) {
        const chunk = await this.#link.read();
        if (chunk === undefined) break;
        for (const packet of this.#framing.decode(chunk)) {
          if (packet) this.queue.push(packet);
          else this.refused++;
          const turn = this.#units.take(UnitCost.datagram);
          if (!turn) continue;
          await turn;
          if (this.#ended) return;
        }
      }
      this.close();
    } catch (error) {
      this.close(asError(error));
    }
  }
}

/** The receiving half of a UdpSocket, over Node's sockets and over the kernel's. */
export abstract class ReceivedUdp extends QueuedPackets {
  /** UDP payload of the accepted datagrams, in bytes. */
  bytesRead = 0;
  bytesWritten = 0;
  readonly #incoming: UdpBindOptions['incoming'];

  constructor({ queue, incoming }: UdpBindOptions) {
    super(queue);
    this.#incoming = incoming;
  }

  /** Queues a received datagram. @param data owned by the reader. */
  protected deliver(data: Uint8Array, from: Endpoint): void {
    const packet = this.#incoming
      ? this.#incoming(data, from.host, from.port)
      : { data, peer: from };
    if (packet === undefined) {
      this.refused++;
      return;
    }
    this.bytesRead += data.length;
    this.queue.push(packet);
  }
}

/** The families that a bound UDP socket can send to. */
export interface UdpReach {
  readonly family: 4 | 6;
  /** Whether an IPv6 socket on `::` reaches IPv4 peers as well. */
  readonly dualStack: boolean;
}

/**
 * Returns the IP address of a peer that a socket reaches, an IPv4-mapped one as the IPv4 address;
 * `undefined` for a name, for port 0 and for a family that the socket cannot reach.
 */
export function reachable({ family, dualStack }: UdpReach, peer: Endpoint): string | undefined {
  if (!(peer.port > 0 && peer.port <= 0xffff)) return undefined;
  const host = unmapIPv4(peer.host);
  const version = ipVersion(host);
  return version === family || (version === 4 && dualStack) ? host : undefined;
}

/** Queued packets whose link is closed by itself, and not with another one. */
export abstract class ClosablePackets extends QueuedPackets {
  readonly closed: Promise<Error | undefined>;
  protected readonly resolveClosed: (cause: Error | undefined) => void;

  constructor(limit?: number) {
    super(limit);
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.resolveClosed = resolve;
  }
}
