import type { Packet, PacketLink } from '@weir/io/links';

/** An association over another packet link, which it closes with itself; a subclass says what it sends. */
export abstract class PacketLayer<Lower extends PacketLink = PacketLink> implements PacketLink {
  protected readonly lower: Lower;
  /** Number of packets that were dropped before they reached `lower`. */
  protected lost = 0;

  protected constructor(lower: Lower) {
    this.lower = lower;
  }

  get closed(): Promise<Error | undefined> {
    return this.lower.closed;
  }

  get dropped(): number {
    return this.lost + this.lower.dropped;
  }

  receive(): Promise<Packet | undefined> {
    return this.lower.receive();
  }

  receiveAll(take: (packet: Packet) => void): Promise<void> {
    return this.lower.receiveAll(take);
  }

  abstract send(packet: Packet): void;

  close(cause?: Error): void {
    this.lower.close(cause);
  }
}
