import assert from 'node:assert/strict';
import type { DeviceTraits } from '@weir/base/ip';
import { offloadTraits, plainTraits } from '../../../../test/support/netstack/device-pair.ts';
import { endpoint, stackPair } from '../../../../test/support/netstack/stack-pair.ts';
import { byteLinkConformance, type LinkEnds } from '../../../io/test/conformance/byte-link.ts';
import {
  packetLinkConformance,
  type PacketLinkFixture,
} from '../../../io/test/conformance/packet-link.ts';

const TARGETS = { IPv4: endpoint('192.0.2.7', 443), IPv6: endpoint('2001:db8::7', 443) };

async function connect(family: keyof typeof TARGETS, traits: DeviceTraits): Promise<LinkEnds> {
  const pair = stackPair({ traits });
  const connecting = pair.client.connect(TARGETS[family], new AbortController().signal);
  const request = await pair.connection();
  const [left, right] = await Promise.all([connecting, request.accept()]);
  return {
    left,
    right,
    async dispose() {
      pair.client.close();
      pair.server.close();
      await Promise.all([pair.client.closed, pair.server.closed]);
    },
  };
}

byteLinkConformance('a TCP connection of the stack, from its client', () =>
  connect('IPv4', plainTraits()),
);

byteLinkConformance('a TCP connection of the stack, from its acceptor', async () => {
  const ends = await connect('IPv6', plainTraits(1280));
  return { left: ends.right, right: ends.left, dispose: () => ends.dispose?.() };
});

byteLinkConformance('a TCP connection of the stack with offloads', () =>
  connect('IPv4', offloadTraits()),
);

packetLinkConformance('an association of a client of the stack', async () => {
  const pair = stackPair();
  const own = pair.client.bindUdp();
  const peer = { host: '198.51.100.9', port: 53 };
  own.send({ data: Uint8Array.of(0), peer });
  const { link } = await pair.association();
  assert.deepEqual([...((await link.receive())?.data ?? [])], [0]);
  return {
    link,
    queue: 256,
    peer,
    deliver: (data) => own.send({ data, peer }),
    arrived: async () => (await own.receive())?.data ?? new Uint8Array(0),
    dispose: () => close(pair),
  } satisfies PacketLinkFixture;
});

packetLinkConformance('an association of an own port of the stack', async () => {
  const pair = stackPair();
  const link = pair.client.bindUdp();
  const peer = { host: '2001:db8::53', port: 53 };
  link.send({ data: Uint8Array.of(0), peer });
  const { link: other } = await pair.association();
  await other.receive();
  return {
    link,
    queue: 256,
    peer,
    deliver: (data) => other.send({ data, peer }),
    arrived: async () => (await other.receive())?.data ?? new Uint8Array(0),
    dispose: () => close(pair),
  } satisfies PacketLinkFixture;
});

async function close({ client, server }: ReturnType<typeof stackPair>): Promise<void> {
  client.close();
  server.close();
  await Promise.all([client.closed, server.closed]);
}
