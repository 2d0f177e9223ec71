import { costOfDatagram } from '../../../net/bounds/datagram-cost.ts';
import type { Packet, ReplyPath } from '../../../net/links/link.ts';

/** Total memory of waiting datagrams in bytes, including the overhead of each. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Datagrams of one client that are queued behind the one whose user is searched for. */
const MOST_OF_CLIENT = 16;

/** A datagram and the reply path to its client. */
export interface Arrived {
  readonly packet: Packet;
  readonly replyPath: ReplyPath;
}

/**
 * The datagrams of clients whose user is being searched for, in order of arrival. Datagrams without
 * room are dropped.
 */
export class WaitingDatagrams {
  readonly #byClient = new Map<string, Arrived[]>();
  #bytes = 0;

  /** Whether a search is in progress for that client. */
  has(client: string): boolean {
    return this.#byClient.has(client);
  }

  /**
   * Keeps a copy of a client's datagram, since its buffer may be reused; `undefined` without room. The search is for
   * the user of the client's first datagram.
   */
  add(client: string, { packet, replyPath }: Arrived): Arrived | undefined {
    const { data, peer } = packet;
    const waiting = this.#byClient.get(client) ?? [];
    const cost = costOfDatagram(data.length);
    if (waiting.length > MOST_OF_CLIENT || this.#bytes + cost > MOST_BYTES) return undefined;
    this.#bytes += cost;
    const kept = { packet: { data: Uint8Array.from(data), peer }, replyPath };
    waiting.push(kept);
    this.#byClient.set(client, waiting);
    return kept;
  }

  /** Ends the wait of a client. @returns its datagrams but the first. */
  release(client: string): readonly Arrived[] {
    const waiting = this.#byClient.get(client) ?? [];
    this.#byClient.delete(client);
    for (const { packet } of waiting) this.#bytes -= costOfDatagram(packet.data.length);
    return waiting.slice(1);
  }
}
