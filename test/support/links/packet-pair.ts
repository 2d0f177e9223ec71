import type { Packet, PacketLink } from '@weir/io/links';
import { PacketQueue } from '../../../packages/io/src/net/packets/packets.ts';

/** One end of datagrams in memory: what the other end sends, this one receives. */
class MemoryPackets implements PacketLink {
  readonly closed: Promise<Error | undefined>;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #queue = new PacketQueue();
  #peer: MemoryPackets | undefined;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  get dropped(): number {
    return this.#queue.dropped;
  }

  join(peer: MemoryPackets): void {
    this.#peer = peer;
  }

  receive(): Promise<Packet | undefined> {
    return this.#queue.receive();
  }

  /** One by one, so that several receivers take turns. */
  async receiveAll(take: (packet: Packet) => void): Promise<void> {
    for (let packet = await this.receive(); packet; packet = await this.receive()) take(packet);
  }

  send(packet: Packet): void {
    if (this.#peer) this.#peer.#queue.push(packet);
  }

  close(cause?: Error): void {
    this.#queue.end(cause);
    this.#resolveClosed(cause);
  }
}

/** Two ends of datagrams in memory. Closing one end leaves the other to be closed by its owner. */
export function packetPair(): [PacketLink, PacketLink] {
  const left = new MemoryPackets();
  const right = new MemoryPackets();
  left.join(right);
  right.join(left);
  return [left, right];
}
