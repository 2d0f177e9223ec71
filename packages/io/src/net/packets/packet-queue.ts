import { keptData } from '../bounds/datagram-cost.ts';
import type { Packet } from '../links/link.ts';
import { ReceivingPackets } from './receiving-packets.ts';

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
