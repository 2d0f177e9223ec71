import type { Packet } from '../links/link.ts';
import { PacketQueue } from './packet-queue.ts';

/** The receiving half of PacketLinks that queue what arrives, and their count of dropped datagrams. */
export abstract class QueuedPackets {
  protected readonly queue: PacketQueue;
  /** Datagrams that were dropped before the queue, in either direction. */
  protected refused = 0;

  /** @param limit datagrams that may wait; 256 when left out. */
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
