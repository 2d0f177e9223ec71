import type { Endpoint } from '../addresses/address.ts';
import { QueuedPackets } from '../packets/queued-packets.ts';
import type { UdpBindOptions } from './sockets.ts';

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

  /**
   * Queues a received datagram.
   * @param data owned by the reader.
   */
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
