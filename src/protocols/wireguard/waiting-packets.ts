import { Fifo } from '../../collections/fifo.ts';
import { MAX_WAITING_PACKET_BYTES, MAX_WAITING_PACKETS } from './limits.ts';

/** Packets queued for a session: when the queue is full the oldest is dropped. */
export class WaitingPackets {
  readonly #packets = new Fifo<Uint8Array>();
  #bytes = 0;
  #dropped = 0;

  /** Number of packets that were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  /**
   * Queues a packet.
   * @param packet in memory of its own.
   */
  push(packet: Uint8Array): void {
    this.#packets.push(packet);
    this.#bytes += packet.length;
    while (this.#packets.size > MAX_WAITING_PACKETS || this.#bytes > MAX_WAITING_PACKET_BYTES) {
      this.shift();
      this.#dropped++;
    }
  }

  peek(): Uint8Array | undefined {
    return this.#packets.peek();
  }

  shift(): void {
    this.#bytes -= this.#packets.shift()?.length ?? 0;
  }

  /** Drops all packets. */
  clear(): void {
    this.#dropped += this.#packets.size;
    this.#packets.clear();
    this.#bytes = 0;
  }
}
