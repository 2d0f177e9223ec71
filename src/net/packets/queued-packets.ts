import type { Packet } from '../links/link.ts';
import { PacketQueue } from './packet-queue.ts';

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
