import { asError } from '../../../errors.ts';
import { UnsentDatagrams } from '../../../net/bounds/datagram-cost.ts';
import { type Endpoint, mayRespondFor } from '../../../net/addresses/address.ts';
import type { Packet, PacketLink } from '../../../net/links/link.ts';
import { PacketQueue } from '../../../net/packets/packet-queue.ts';
import { Body, type BodyParts } from './body.ts';
import { LONGEST_DATAGRAM } from './body-chunks.ts';

/**
 * BodyDatagrams to and from one peer, a chunk each, over a VMess connection.
 *
 * Dropped are empty datagrams, which would end the body, those of other peers, which the body
 * cannot name, and those for which a carrier that does not keep up has no room.
 */
export class BodyDatagrams implements PacketLink {
  readonly #body: Body;
  readonly #peer: Endpoint;
  readonly #queue = new PacketQueue();
  /** When the carrier has failed, `closed` reports why. */
  readonly #unsent = new UnsentDatagrams(() => undefined);
  #refused = 0;
  #ended = false;
  #cause: Error | undefined;

  /** @param peer where the datagrams of the body come from or go to. */
  constructor(parts: BodyParts, peer: Endpoint) {
    this.#body = new Body(parts);
    this.#peer = peer;
    void this.#receive();
  }

  get closed(): Promise<Error | undefined> {
    return this.#body.closed.then((cause) => (this.#ended ? this.#cause : cause));
  }

  get dropped(): number {
    return this.#refused + this.#queue.dropped;
  }

  receive(): Promise<Packet | undefined> {
    return this.#queue.receive();
  }

  receiveAll(take: (packet: Packet) => void): Promise<void> {
    return this.#queue.receiveAll(take);
  }

  send({ data, peer }: Packet): void {
    if (
      this.#ended ||
      !this.#body.isWritable ||
      !this.#fits(data) ||
      !mayRespondFor(this.#peer, peer)
    ) {
      this.#refused++;
      return;
    }
    const full = this.#body.sendDatagram(data);
    if (full) this.#unsent.add(data.length, full);
  }

  #fits({ length }: Uint8Array): boolean {
    return length > 0 && length <= LONGEST_DATAGRAM && this.#unsent.hasRoom;
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cause = cause;
    this.#queue.end(cause);
    // The end is sent only when there is room for it: datagrams do not wait.
    if (!cause && this.#body.isWritable) this.#body.closeWrite().catch(() => undefined);
    this.#body.destroy(cause);
  }

  /** BodyDatagrams queue here alone, so the carrier is read whether they are taken or not. */
  async #receive(): Promise<void> {
    try {
      for (;;) {
        const ends: number[] = [];
        const run = await this.#body.read(undefined, ends);
        if (!run) break;
        let start = 0;
        for (const end of ends) {
          this.#queue.push({ data: run.subarray(start, end), peer: this.#peer });
          start = end;
        }
      }
      this.close();
    } catch (error) {
      this.close(asError(error));
    }
  }
}
