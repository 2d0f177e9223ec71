import type { Endpoint } from '../addresses/address.ts';
import type { Packet } from '../links/link.ts';
import { PacketQueue } from '../packets/packet-queue.ts';
import type { UdpBindOptions } from './sockets.ts';

/** The receiving half of a UdpSocket, over Node's sockets and over the kernel's. */
export abstract class ReceivedUdp {
  /** UDP payload of the datagrams that were accepted, in bytes. */
  bytesRead = 0;
  bytesWritten = 0;
  /** Datagrams that were dropped before the queue, in either direction. */
  protected refused = 0;
  readonly #queue: PacketQueue;
  readonly #incoming: UdpBindOptions['incoming'];

  constructor({ queue, incoming }: UdpBindOptions) {
    this.#queue = new PacketQueue(queue);
    this.#incoming = incoming;
  }

  get dropped(): number {
    return this.refused + this.#queue.dropped;
  }

  receive(): Promise<Packet | undefined> {
    return this.#queue.receive();
  }

  receiveAll(take: (packet: Packet) => void): Promise<void> {
    return this.#queue.receiveAll(take);
  }

  /** @param data owned by the reader. */
  protected deliver(data: Uint8Array, from: Endpoint): void {
    const packet = this.#incoming
      ? this.#incoming(data, from.host, from.port)
      : { data, peer: from };
    if (packet === undefined) {
      this.refused++;
      return;
    }
    this.bytesRead += data.length;
    this.#queue.push(packet);
  }

  protected endReceiving(cause: Error | undefined): void {
    this.#queue.end(cause);
  }
}
