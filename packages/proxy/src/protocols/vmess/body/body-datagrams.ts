import { asError } from '@weir/base';
import { UnitCost, UnitShare, UnsentDatagrams } from '@weir/io/bounds';
import { type Endpoint, mayRespondFor } from '@weir/io/addresses';
import { type Packet, type PacketLink, QueuedPackets } from '@weir/io/links';
import { Body, type BodyParts } from './body.ts';
import { LONGEST_DATAGRAM } from './body-chunks.ts';

/**
 * Datagrams to and from one peer over a VMess connection, one in each chunk.
 *
 * Datagrams are dropped when they are empty, which would end the body; when they are for other
 * peers, since a chunk has no address; and while the carrier is full.
 */
export class BodyDatagrams extends QueuedPackets implements PacketLink {
  readonly #body: Body;
  readonly #units = new UnitShare();
  readonly #peer: Endpoint;
  /** Datagrams queued by a full carrier, whose failures `closed` reports. */
  readonly #unsent = new UnsentDatagrams(() => undefined);
  #ended = false;
  #cause: Error | undefined;

  /** @param peer the source or destination of the body's datagrams. */
  constructor(parts: BodyParts, peer: Endpoint) {
    super();
    this.#body = new Body(parts);
    this.#peer = peer;
    void this.#receive();
  }

  get closed(): Promise<Error | undefined> {
    return this.#body.closed.then((cause) => (this.#ended ? this.#cause : cause));
  }

  send({ data, peer }: Packet): void {
    if (
      this.#ended ||
      !this.#body.isWritable ||
      !this.#fits(data) ||
      !mayRespondFor(this.#peer, peer)
    ) {
      this.refused++;
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
    this.queue.end(cause);
    // Like a datagram, the end is sent only if the carrier has room for it.
    if (!cause && this.#body.isWritable) this.#body.closeWrite().catch(() => undefined);
    this.#body.destroy(cause);
  }

  /** Reads the carrier whether or not datagrams are received: `queue` drops the excess. */
  async #receive(): Promise<void> {
    try {
      for (;;) {
        const ends: number[] = [];
        const run = await this.#body.read(undefined, ends);
        if (!run) break;
        let start = 0;
        for (const end of ends) {
          this.queue.push({ data: run.subarray(start, end), peer: this.#peer });
          start = end;
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
