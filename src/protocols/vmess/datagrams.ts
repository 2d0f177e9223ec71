import type { Endpoint } from '../../net/address.ts';
import type { Packet, PacketLink } from '../../net/link.ts';
import { PacketQueue } from '../../net/packet-queue.ts';
import { Body, type BodyParts } from './body.ts';
import { LONGEST_DATAGRAM } from './chunk-sealer.ts';

/**
 * Datagrams to and from one peer, a chunk each, over a VMess connection.
 *
 * An empty datagram cannot be told from the end of the body and is dropped, as is what the carrier
 * has no room for: a stream that is full must not make datagrams late.
 */
export class Datagrams implements PacketLink {
  readonly #body: Body;
  readonly #peer: Endpoint;
  readonly #queue = new PacketQueue();
  #full = false;
  #refused = 0;
  #cause: Error | undefined;

  /** @param peer where the datagrams of the body come from or go to. */
  constructor(parts: BodyParts, peer: Endpoint) {
    this.#body = new Body(parts);
    this.#peer = peer;
    void this.#receive();
  }

  get closed(): Promise<Error | undefined> {
    return this.#body.closed.then((cause) => this.#cause ?? cause);
  }

  get dropped(): number {
    return this.#refused + this.#queue.dropped;
  }

  receive(): Promise<Packet | undefined> {
    return this.#queue.take();
  }

  send({ data }: Packet): void {
    const fits = data.length > 0 && data.length <= LONGEST_DATAGRAM;
    if (!fits || this.#full || !this.#body.isWritable) {
      this.#refused++;
      return;
    }
    const full = this.#body.sendDatagram(data);
    if (!full) return;
    this.#full = true;
    full.then(
      () => (this.#full = false),
      // The carrier has failed: `closed` tells why.
      () => undefined,
    );
  }

  close(cause?: Error): void {
    this.#cause ??= cause;
    this.#queue.end(cause);
    if (cause) this.#body.destroy(cause);
    else this.#finish();
  }

  /** Says that nothing more comes, and lets go. */
  #finish(): void {
    const done = (): void => this.#body.destroy();
    if (this.#body.isWritable) this.#body.closeWrite().then(done, done);
  }

  /** Datagrams wait nowhere else, so the carrier is read whether they are taken or not. */
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
      this.close(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
