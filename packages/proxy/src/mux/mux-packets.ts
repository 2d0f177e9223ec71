import { mayRespondFor, type Endpoint } from '@weir/io/addresses';
import { type Packet, type PacketLink, ClosablePackets } from '@weir/io/links';
import { encodeEnd, encodePacketHeader } from './frame.ts';
import type { Outlet } from './outlet.ts';

/** Datagrams of one flow that are queued for the dispatcher, which reads them at once. */
const KEPT = 64;

/**
 * The longest datagrams that a client reads; a longer one would make it close the whole carrier.
 * v2ray reads 2,048 bytes; clients with XUDP read 8,192.
 */
const MAX_PLAIN = 2048;
const MAX_ADDRESSED = 8192;

export interface MuxPacketsOptions {
  readonly id: number;
  /** The destination of datagrams without an address. */
  readonly destination: Endpoint;
  /** Whether the client uses XUDP: datagrams to it then carry their source. */
  readonly addressed: boolean;
  readonly outlet: Outlet;
  readonly now: () => number;
  /** Called when the flow has ended; its id is free. */
  readonly onClosed: () => void;
}

/** The server's end of a UDP flow on a carrier. */
export class MuxPackets extends ClosablePackets implements PacketLink {
  readonly #options: MuxPacketsOptions;
  #addressed: boolean;
  #over = false;
  #lastSeen: number;

  constructor(options: MuxPacketsOptions) {
    super(KEPT);
    this.#options = options;
    this.#addressed = options.addressed;
    this.#lastSeen = options.now();
  }

  /** The time of the last datagram in either direction, on the carrier's clock. */
  get lastSeen(): number {
    return this.#lastSeen;
  }

  /** Delivers a datagram of the client; the first with an address shows that it uses XUDP. */
  deliver(data: Uint8Array, peer: Endpoint | undefined): void {
    this.#lastSeen = this.#options.now();
    if (peer) this.#addressed = true;
    this.queue.push({ data, peer: peer ?? this.#options.destination });
  }

  /** Ends the flow after the client's End. */
  abandon(cause?: Error): void {
    this.#end(cause);
  }

  send({ data, peer }: Packet): void {
    const { id, destination, outlet, now } = this.#options;
    const fits = data.length <= (this.#addressed ? MAX_ADDRESSED : MAX_PLAIN);
    const isEncodable = this.#addressed || mayRespondFor(destination, peer);
    const header =
      fits && isEncodable && !this.#over
        ? encodePacketHeader(id, data.length, this.#addressed ? peer : undefined)
        : undefined;
    if (!header || !outlet.offer(this, [header, data])) {
      this.refused++;
      return;
    }
    this.#lastSeen = now();
  }

  close(cause?: Error): void {
    if (this.#end(cause))
      this.#options.outlet.sendControl(encodeEnd(this.#options.id, cause !== undefined));
  }

  #end(cause: Error | undefined): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.queue.end(cause);
    this.#options.onClosed();
    this.resolveClosed(cause);
    return true;
  }
}
