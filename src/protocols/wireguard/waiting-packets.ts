import { Fifo } from '../../collections/fifo.ts';
import { MAX_WAITING_PACKET_BYTES, MAX_WAITING_PACKETS } from './limits.ts';

/** Packets that wait for a session: a queue that drops the oldest when it is full. */
export class WaitingPackets {
  readonly #packets = new Fifo<Uint8Array>();
  #bytes = 0;
  #dropped = 0;

  /** Packets that were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  /** @param packet in memory of its own. */
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

  /** Drops all. */
  clear(): void {
    this.#dropped += this.#packets.size;
    this.#packets.clear();
    this.#bytes = 0;
  }
}
