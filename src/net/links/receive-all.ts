import type { Packet, PacketLink } from './link.ts';

/**
 * Passes the packets of a link to `take` until it ends: as they arrive where the link can do that,
 * otherwise one by one from its queue. Rejects when the link fails or `take` throws.
 */
export const receiveAll = (link: PacketLink, take: (packet: Packet) => void): Promise<void> =>
  link.receiveAll?.(take) ?? receiveEach(link, take);

async function receiveEach(link: PacketLink, take: (packet: Packet) => void): Promise<void> {
  for (;;) {
    const packet = await link.receive();
    if (!packet) return;
    take(packet);
  }
}
