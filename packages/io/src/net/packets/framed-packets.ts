import { asError } from '@weir/base';
import { UnsentDatagrams } from '../bounds/datagram-cost.ts';
import { UnitCost, UnitShare } from '../bounds/unit-share.ts';
import type { ByteLink, Packet, PacketLink } from '../links/link.ts';
import { QueuedPackets } from './packet-queue.ts';

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
