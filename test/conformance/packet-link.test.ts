import { networkInterfaces } from 'node:os';
import { UdpLink } from '../../src/net/udp-link.ts';
import { packetLinkConformance, type PacketLinkFixture } from './packet-link.ts';

/** A UDP link under test and a plain one beside it, both on loopback. */
async function udpPair(
  family: 4 | 6,
  address: string,
  peerFamily: 4 | 6,
): Promise<PacketLinkFixture> {
  const loopback = (of: 4 | 6): string => (of === 4 ? '127.0.0.1' : '::1');
  const queue = 40;
  const link = await UdpLink.bind({ family, address, queue });
  const other = await UdpLink.bind({ family: peerFamily, address: loopback(peerFamily) });
  const target = { host: loopback(peerFamily), port: link.local.port };
  return {
    link,
    queue,
    peer: other.local,
    deliver: (data) => other.send({ data, peer: target }),
    arrived: async () => {
      const packet = await other.receive();
      if (!packet) throw new Error('the peer is closed');
      return packet.data;
    },
    dispose: async () => {
      other.close();
      await other.closed;
    },
  };
}

packetLinkConformance('An IPv4 UDP socket', () => udpPair(4, '127.0.0.1', 4));
// Containers without IPv6 are common; there is nothing to test there.
if (
  Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
) {
  packetLinkConformance('An IPv6 UDP socket', () => udpPair(6, '::1', 6));
  packetLinkConformance('A dual-stack UDP socket with an IPv4 peer', () => udpPair(6, '::', 4));
  packetLinkConformance('A dual-stack UDP socket with an IPv6 peer', () => udpPair(6, '::', 6));
}
