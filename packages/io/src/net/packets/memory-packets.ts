import type { Packet, PacketLink } from '../links/link.ts';
import { type PacketQueue, QueuedPackets } from './packets.ts';

/** Characters of the longest host that a protocol can carry. */
const MAX_HOST = 255;

/** One end of datagrams in memory: what the other end sends, this one receives. */
class MemoryPackets extends QueuedPackets implements PacketLink {
  readonly closed: Promise<Error | undefined>;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #peer!: MemoryPackets; // set by packetPair before either end is handed out

  constructor() {
    super();
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  join(peer: MemoryPackets): void {
    this.#peer = peer;
  }

  /** Number of datagrams that were dropped in either direction. */
  override get dropped(): number {
    return this.refused + this.#queue.dropped + this.#peer.#queue.dropped;
  }

  send(packet: Packet): void {
    if (packet.peer.host.length > MAX_HOST) this.refused++;
    else this.#peer.#queue.push(packet);
  }

  close(cause?: Error): void {
    for (const end of [this, this.#peer]) {
      end.#queue.end(cause);
      end.#resolveClosed(cause);
    }
  }

  get #queue(): PacketQueue {
    return this.queue;
  }
}

/** Creates two PacketLinks connected in memory, as `linkPair` does for streams. Either end closes both. */
export function packetPair(): [PacketLink, PacketLink] {
  const left = new MemoryPackets();
  const right = new MemoryPackets();
  left.join(right);
  right.join(left);
  return [left, right];
}
