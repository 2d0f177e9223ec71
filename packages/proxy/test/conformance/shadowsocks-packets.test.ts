import { SystemRandomSource } from '@weir/base/random';
import type { Endpoint } from '@weir/io/addresses';
import { systemClock } from '@weir/io/time';
import type { Packet } from '@weir/io/links';
import { PacketQueue } from '../../../io/src/net/packets/packets.ts';
import { UdpLink } from '../../../io/src/net/sockets/node/udp-socket.ts';
import { ClientAssociation } from '../../src/protocols/shadowsocks/client-associations.ts';
import { AddressMemo } from '../../src/protocols/shadowsocks/packets.ts';
import { LegacyDatagramCodec } from '../../src/protocols/shadowsocks/legacy/datagrams.ts';
import { METHODS } from '../../src/protocols/shadowsocks/methods.ts';
import {
  packetLinkConformance,
  type PacketLinkFixture,
} from '../../../io/test/conformance/packet-link.ts';
import { UpstreamAssociation } from '../../src/protocols/shadowsocks/outbound.ts';

const DEFAULT_QUEUE = 256;
const CLIENT: Endpoint = { host: '192.0.2.1', port: 40_000 };

/** Both directions of the legacy edition look the same, so one codec can be either side. */
const codec = (): LegacyDatagramCodec =>
  new LegacyDatagramCodec(METHODS['aes-128-gcm'], Buffer.alloc(16, 1), new SystemRandomSource());

async function throughServer(peer: Endpoint): Promise<PacketLinkFixture> {
  const socket = await UdpLink.bind({ family: 4, address: '127.0.0.1' });
  const far = codec();
  const link = await UpstreamAssociation.open(socket.local, codec());
  // A server learns where its client is from the first datagram.
  link.send({ data: new Uint8Array(0), peer });
  const hello = await socket.receive();
  if (!hello) throw new Error('the socket is closed');
  return {
    link,
    queue: DEFAULT_QUEUE,
    peer,
    deliver: (data) => {
      const datagram = far.encode({ data, peer });
      if (datagram) socket.send({ data: datagram, peer: hello.peer });
    },
    arrived: async () => {
      const datagram = await socket.receive();
      const packet = datagram && far.decode(datagram.data);
      if (!packet) throw new Error('no datagram arrived');
      return packet.data;
    },
    dispose: () => {
      far[Symbol.dispose]();
      socket.close();
    },
  };
}

function ofClient(peer: Endpoint): Promise<PacketLinkFixture> {
  const memo = new AddressMemo();
  const sealer = {
    seal: ({ data, peer }: Packet) => memo.encode(peer) && data,
    [Symbol.dispose]: () => undefined,
  };
  const link = new ClientAssociation(CLIENT, sealer, systemClock);
  const sent = new PacketQueue();
  const replyPath = {
    send: (packet: Packet) => sent.push(packet),
    closed: new Promise<undefined>(() => undefined),
    hold: () => () => undefined,
    acceptsClients: true,
  };
  const deliver = (data: Uint8Array): void =>
    link.deliver({ data, peer }, data.length, CLIENT, replyPath);
  deliver(new Uint8Array(1));
  return link.receive().then(() => ({
    link,
    queue: DEFAULT_QUEUE,
    peer,
    deliver,
    arrived: async () => (await sent.receive())?.data ?? new Uint8Array(0),
    dispose: () => undefined,
  }));
}

for (const host of ['192.0.2.7', '2001:db8::7', 'dns.example']) {
  const peer = { host, port: 53 };
  packetLinkConformance(`A Shadowsocks client that reaches ${host}`, () => throughServer(peer));
  packetLinkConformance(`A Shadowsocks association with ${host}`, () => ofClient(peer));
}
