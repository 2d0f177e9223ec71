import { networkInterfaces } from 'node:os';
import type { Endpoint } from '@weir/io/addresses';
import { type ByteLink, linkPair, type PacketLink, packetPair } from '@weir/io/links';
import { FramedPackets, type PacketFraming } from '@weir/io/layers';
import { silentLogger } from '@weir/base/log';
import { UdpLink } from '../../../io/src/net/sockets/node/udp-socket.ts';
import {
  ClientDatagrams,
  ServerDatagrams,
  UdpFraming,
} from '../../src/protocols/socks/association.ts';
import { MuxFrameDecoder } from '../../src/mux/frame.ts';
import { MuxPackets } from '../../src/mux/mux-packets.ts';
import { Outlet } from '../../src/mux/outlet.ts';
import { TrojanFraming } from '../../src/protocols/trojan/wire.ts';
import { DestinationLinks } from '../../src/protocols/outbounds/destination-links.ts';
import { VlessFraming } from '../../src/protocols/vless/wire.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import {
  packetLinkConformance,
  type PacketLinkFixture,
} from '../../../io/test/conformance/packet-link.ts';

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

/** The default queue of a UDP link. */
const DEFAULT_QUEUE = 256;

packetLinkConformance('A pair in memory', async () => {
  const [link, other] = packetPair();
  const peer = { host: '192.0.2.1', port: 7 };
  return {
    link,
    queue: DEFAULT_QUEUE,
    peer,
    deliver: (data) => other.send({ data, peer }),
    arrived: async () => {
      const packet = await other.receive();
      if (!packet) throw new Error('the peer is closed');
      return packet.data;
    },
    dispose: () => other.close(),
  };
});

/** The far side of a SOCKS relay: a plain UDP socket that speaks with headers. */
function framed(
  socket: UdpLink,
  peer: Endpoint,
  link: () => Endpoint,
): Pick<PacketLinkFixture, 'peer' | 'deliver' | 'arrived'> {
  const framing = new UdpFraming();
  return {
    peer,
    deliver: (data) => {
      const header = framing.encode({ data, peer });
      if (header) socket.send({ data: header, peer: link() });
    },
    arrived: async () => {
      const packet = await socket.receive();
      const inner = packet && framing.decode(packet.data);
      if (!inner) throw new Error('no framed datagram came');
      return inner.data;
    },
  };
}

async function socksClient(peer: Endpoint): Promise<PacketLinkFixture> {
  const socket = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
  const { host: clientHost, port: clientPort } = socket.local;
  const link = await ClientDatagrams.open({ bind: '127.0.0.1', family: 4, clientHost, clientPort });
  return {
    ...framed(socket, peer, () => link.address),
    link,
    queue: DEFAULT_QUEUE,
    dispose: () => socket.close(),
  };
}

async function socksServer(peer: Endpoint): Promise<PacketLinkFixture> {
  const relay = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
  const [control] = linkPair();
  const link = await ServerDatagrams.open(relay.local, control);
  // A server learns where its client is from the first datagram.
  link.send({ data: new Uint8Array(0), peer });
  const hello = await relay.receive();
  if (!hello) throw new Error('the relay is closed');
  return {
    ...framed(relay, peer, () => hello.peer),
    link,
    queue: DEFAULT_QUEUE,
    dispose: () => relay.close(),
  };
}

for (const host of ['192.0.2.7', '2001:db8::7', 'dns.example']) {
  const peer = { host, port: 53 };
  packetLinkConformance(`A SOCKS client that speaks with ${host}`, () => socksClient(peer));
  packetLinkConformance(`A SOCKS server that reaches ${host}`, () => socksServer(peer));
}

/** A link over one end of a byte link, and the framing by hand at the other. */
function overBytes(
  link: PacketLink,
  far: ByteLink,
  framing: PacketFraming,
  peer: Endpoint,
): PacketLinkFixture {
  const arrived: Uint8Array[] = [];
  return {
    link,
    queue: DEFAULT_QUEUE,
    peer,
    deliver: (data) => void far.writeOutput(framing.encode({ data, peer }) ?? []),
    arrived: async () => {
      for (;;) {
        const next = arrived.shift();
        if (next) return next;
        const chunk = await far.read();
        if (!chunk) throw new Error('the stream ended');
        for (const packet of framing.decode(chunk)) if (packet) arrived.push(packet.data);
      }
    },
    dispose: () => far.destroy(),
  };
}

for (const host of ['192.0.2.7', '2001:db8::7', 'dns.example']) {
  const peer = { host, port: 53 };
  packetLinkConformance(`A Trojan stream that speaks with ${host}`, () => {
    const [near, far] = linkPair();
    const link = new FramedPackets(near, new TrojanFraming());
    return Promise.resolve(overBytes(link, far, new TrojanFraming(), peer));
  });
  packetLinkConformance(`A VLESS stream that speaks with ${host}`, () => {
    const [near, far] = linkPair();
    const link = new FramedPackets(near, new VlessFraming(peer));
    return Promise.resolve(overBytes(link, far, new VlessFraming(peer), peer));
  });
  packetLinkConformance(`VLESS streams that reach ${host}`, () => {
    const [near, far] = linkPair();
    const link = new DestinationLinks(
      (to) =>
        to.host === host
          ? Promise.resolve(new FramedPackets(near, new VlessFraming(peer)))
          : Promise.reject(new Error('no such destination')),
      { clock: new ManualClock(), log: silentLogger, tag: 'out' },
    );
    // The stream is there once something was sent.
    link.send({ data: new Uint8Array(0), peer });
    const fixture = overBytes(link, far, new VlessFraming(peer), peer);
    return fixture.arrived().then(() => fixture);
  });
  packetLinkConformance(`A datagram flow of Mux.Cool that speaks with ${host}`, () => {
    const [near, far] = linkPair();
    const link = new MuxPackets({
      id: 1,
      destination: peer,
      addressed: true,
      outlet: new Outlet(near, () => undefined),
      now: () => 0,
      onClosed: () => undefined,
    });
    const framing: PacketFraming = {
      encode: ({ data }) => {
        link.deliver(data, peer);
        return [];
      },
      decode: muxPackets(new MuxFrameDecoder()),
    };
    return Promise.resolve({ ...overBytes(link, far, framing, peer), queue: 64 });
  });
}

/** The datagrams in a chunk of frames, each whole as the tests send them. */
function muxPackets(decoder: MuxFrameDecoder): PacketFraming['decode'] {
  return function* decode(chunk) {
    let data = Buffer.alloc(0);
    for (const event of decoder.decode(chunk)) {
      if (event.kind === 'data') data = Buffer.concat([data, event.bytes]);
      const whole = event.kind === 'data' ? event.last : event.header.hasData && event.length === 0;
      if (!whole) continue;
      yield { data, peer: { host: '', port: 0 } };
      data = Buffer.alloc(0);
    }
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
