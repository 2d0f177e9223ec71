import { after } from 'node:test';
import { KernelUdpLink } from '../../src/net/sockets/kernel/kernel-udp-link.ts';
import { UdpLink } from '../../src/net/sockets/node/udp-socket.ts';
import { checkedIo, noKernelSockets } from '../../../../test/support/links/kernel-io.ts';
import { packetLinkConformance, type PacketLinkFixture } from './packet-link.ts';
import { hasIPv6 } from '../../../../test/support/ports.ts';

if (noKernelSockets === false) {
  const { io } = checkedIo();
  after(() => io.close());

  /** A kernel link under test and a socket of Node's beside it, both on loopback. */
  const pair = async (
    family: 4 | 6,
    address: string,
    peerFamily: 4 | 6,
  ): Promise<PacketLinkFixture> => {
    const loopback = (of: 4 | 6): string => (of === 4 ? '127.0.0.1' : '::1');
    const queue = 40;
    const link = KernelUdpLink.bind(io, { family, address, queue });
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
  };

  packetLinkConformance('A kernel IPv4 UDP socket', () => pair(4, '127.0.0.1', 4));
  // Containers without IPv6 are common; there is nothing to test there.
  if (hasIPv6) {
    packetLinkConformance('A kernel IPv6 UDP socket', () => pair(6, '::1', 6));
    packetLinkConformance('A dual-stack kernel UDP socket with an IPv4 peer', () =>
      pair(6, '::', 4),
    );
    packetLinkConformance('A dual-stack kernel UDP socket with an IPv6 peer', () =>
      pair(6, '::', 6),
    );
  }
}
