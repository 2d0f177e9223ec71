import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  LEAST_SHARED_FLOWS,
  MAX_BRIEF_ASSOCIATIONS,
  MAX_BRIEF_OF_CLIENT,
  REPLACED_A_SECOND,
  REPLACED_QUERIES_A_SECOND,
} from '../../src/limits.ts';
import type { Stack } from '../../src/stack.ts';
import type { StackEvent } from '../../src/flows/flow-queues.ts';
import { TcpLink } from '../../src/flows/tcp-link.ts';
import type { UdpFlow } from '../../src/flows/udp-flow.ts';
import { TcpFlag } from '../../src/wire/tcp.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import {
  endpoint,
  segment,
  SERVER4,
  tcpPacket,
  udpPacket,
} from '../../../../test/support/data/ip-packets.ts';
import { BareStack, sentSegment } from '../../../../test/support/netstack/bare-stack.ts';

const DATA = Buffer.from('data');
const SERVER = { host: '198.51.100.2', port: 443 };
const [FLOOD, OTHER] = ['192.0.2.1', '192.0.2.9'];

/** A datagram of a client. */
const datagram = (client: string, port: number, destination = SERVER4): Uint8Array =>
  udpPacket(DATA, { source: endpoint(client, port), destination });

/** A SYN of a client. */
const syn = (client: string, port: number): Uint8Array =>
  tcpPacket(
    segment({ sourcePort: port, destinationPort: SERVER4.port, flags: TcpFlag.SYN }),
    undefined,
    { source: endpoint(client, port), destination: SERVER4 },
  );

/** A stack whose associations have owners, as a driver gives them. */
function rig(maxFlows: number) {
  const flows = new Map<number, UdpFlow>();
  const ended: number[] = [];
  const requests: number[] = [];
  const own = ({ network, flow, event }: StackEvent, { udp }: Stack): void => {
    if (network === 'tcp') {
      if (event === 'requested') requests.push(flow.remote.port);
    } else if (event === 'opened') {
      flows.set(flow.remote.port, flow);
      flow.owner = { onEvent: () => undefined, close: () => undefined };
    } else if (event === 'expired') {
      ended.push(flow.remote.port);
      udp.close(flow);
    }
  };
  const bare = new BareStack({ settings: { maxFlows }, onEvent: own });
  /** The destination responds to the client with this port. */
  const respond = (port: number): number => {
    const flow = flows.get(port);
    const peer = flow?.peers.numbers(SERVER);
    assert.ok(flow && peer);
    bare.stack.udp.send(flow, DATA, peer, bare.now);
    return bare.settle().length;
  };
  const flood = (count: number): void => {
    for (let i = 0; i < count; i++) bare.receive(datagram(FLOOD, 1024 + i));
  };
  return { bare, flows, ended, requests, respond, flood };
}

describe('at the limit of flows', () => {
  test('a datagram from each of many ports takes no place of what was answered', () => {
    const { bare, ended, respond, flood } = rig(100);
    bare.receive(datagram(FLOOD, 40_000), datagram(OTHER, 40_001));
    respond(40_000);
    flood(REPLACED_A_SECOND);
    assert.equal(bare.stack.flows, 100);
    assert.equal(respond(40_000), 1);
    assert.equal(respond(40_001), 1);
    assert.ok(ended.every((port) => port < 40_000));
    assert.equal(new Set(bare.drops).size, 1);
    assert.ok(bare.drops.includes('evicted'));
  });

  test('a connection, and an association of the same client or another, begin beside such a flood', () => {
    const { bare, requests, respond, flood } = rig(100);
    flood(REPLACED_A_SECOND);
    bare.receive(syn(FLOOD, 50_000), syn(OTHER, 50_001));
    assert.deepEqual(requests, [50_000, 50_001]);
    bare.receive(datagram(FLOOD, 50_002), datagram(OTHER, 50_003));
    for (const port of [50_002, 50_003]) assert.equal(respond(port), 1);
    assert.equal(bare.stack.flows, 100);
  });

  test('what gave way is closed, and a datagram of its client opens it again', () => {
    const { bare, ended, flows, flood } = rig(20);
    flood(21);
    assert.deepEqual(ended, [1024]);
    assert.equal(flows.get(1024)?.isClosed, true);
    flows.delete(1024);
    bare.receive(datagram(FLOOD, 1024));
    assert.equal(flows.get(1024)?.isClosed, false);
  });

  test('associations that have not been opened yet give way without an event', () => {
    const { bare, ended, flows } = rig(20);
    bare.receive(...Array.from({ length: 100 }, (_, i) => datagram(FLOOD, 1024 + i)));
    assert.equal(flows.size, 20);
    assert.deepEqual(ended, []);
  });

  test('conversations that are not idle are dropped for no newcomer', () => {
    const { bare, ended, requests, respond } = rig(LEAST_SHARED_FLOWS);
    for (let port = 40_000; port < 40_000 + LEAST_SHARED_FLOWS; port++) {
      bare.receive(datagram(FLOOD, port));
      respond(port);
      bare.receive(datagram(FLOOD, port));
    }
    bare.receive(datagram(FLOOD, 41_000), syn(FLOOD, 50_000));
    assert.deepEqual([ended, requests], [[], []]);
    assert.deepEqual(bare.drops, ['flow limit', 'flow limit']);
    bare.advance(40_000);
    bare.receive(syn(FLOOD, 50_000));
    assert.equal(ended.length, 1);
    assert.deepEqual(requests, [50_000]);
  });

  test('connections leave a part to associations, and a question of DNS finds room', () => {
    const { bare, requests, flows } = rig(256);
    for (let port = 1024; port < 1024 + 300; port++) bare.receive(syn(FLOOD, port));
    assert.equal(requests.length, 254);
    bare.receive(datagram(FLOOD, 40_000, endpoint('172.19.0.2', 53)), datagram(OTHER, 40_001));
    assert.equal(flows.size, 2);
    assert.equal(bare.stack.flows, 256);
  });

  test('new associations in the place of others are limited a second, and questions of DNS beside them', () => {
    const { bare, flows, flood } = rig(20);
    flood(20 + REPLACED_A_SECOND + 5);
    assert.equal(bare.drops.filter((reason) => reason === 'flow limit').length, 5);
    bare.receive(datagram(FLOOD, 40_000, endpoint('172.19.0.2', 53)));
    assert.equal(flows.get(40_000)?.isClosed, false);
  });

  test('a small limit is exact: what is new is dropped, whatever there is', () => {
    const { bare, ended, requests, flows } = rig(LEAST_SHARED_FLOWS - 1);
    for (let i = 0; i < LEAST_SHARED_FLOWS; i++) bare.receive(datagram(FLOOD, 1024 + i));
    bare.advance(40_000);
    bare.receive(datagram(OTHER, 40_000), syn(OTHER, 50_000));
    assert.equal(flows.size, LEAST_SHARED_FLOWS - 1);
    assert.deepEqual([ended, requests], [[], []]);
    assert.ok(bare.drops.every((reason) => reason === 'flow limit'));
  });

  test('a limit below the number of flows ends none of them, and 0 takes no new one', () => {
    for (const maxFlows of [5, 0]) {
      const { bare, ended, requests, flood } = rig(10);
      flood(10);
      bare.stack.settings = { maxFlows, udp: true, udpIdle: 60_000 };
      bare.receive(syn(OTHER, 50_000), datagram(OTHER, 50_001));
      assert.deepEqual([ended, requests], [[], []]);
      assert.equal(bare.stack.flows, 10);
    }
  });
});

describe('below the limit of flows', () => {
  const DNS = endpoint('172.19.0.2', 53);

  test('a client has so many associations without a conversation; those that last stay beside them', () => {
    const { bare, ended, respond, flood } = rig(65_536);
    bare.receive(datagram(FLOOD, 50_000));
    respond(50_000);
    bare.receive(datagram(FLOOD, 50_000));
    flood(MAX_BRIEF_OF_CLIENT + REPLACED_A_SECOND + 7);
    assert.equal(bare.stack.flows, MAX_BRIEF_OF_CLIENT + 1);
    assert.deepEqual(
      ended,
      Array.from({ length: REPLACED_A_SECOND }, (_, i) => 1024 + i),
    );
    assert.equal(bare.drops.length, REPLACED_A_SECOND + 7);
    assert.equal(new Set(bare.drops).size, 1);
    assert.equal(respond(50_000), 1);
  });

  test('queries of the client are limited apart, and another client is not', () => {
    const { bare, flows, respond, flood } = rig(65_536);
    flood(MAX_BRIEF_OF_CLIENT + REPLACED_A_SECOND + 1);
    bare.receive(datagram(FLOOD, 50_000, DNS), datagram(OTHER, 50_001), datagram(OTHER, 50_002));
    for (const port of [50_000, 50_001, 50_002]) assert.equal(respond(port), 1);
    for (let i = 0; i < REPLACED_QUERIES_A_SECOND; i++) {
      bare.receive(datagram(FLOOD, 51_000 + i, DNS));
    }
    assert.equal(flows.has(51_000 + REPLACED_QUERIES_A_SECOND - 1), false);
    bare.advance(1000);
    bare.receive(datagram(FLOOD, 60_000, DNS));
    assert.equal(respond(60_000), 1);
  });

  test('all clients together have so many; one with far fewer than another always gets its first', () => {
    const { bare, respond } = rig(65_536);
    const clients = [FLOOD, '192.0.2.2', '192.0.2.3'];
    for (let i = 0; i < MAX_BRIEF_ASSOCIATIONS; i++) {
      bare.receive(datagram(clients[i % 3] ?? '', 1024 + i));
    }
    for (let i = 0; i <= REPLACED_A_SECOND; i++) bare.receive(datagram(FLOOD, 20_000 + i));
    assert.equal(bare.stack.flows, MAX_BRIEF_ASSOCIATIONS);
    bare.receive(datagram(FLOOD, 50_000), datagram(OTHER, 50_001));
    assert.throws(() => respond(50_000));
    assert.equal(respond(50_001), 1);
    assert.equal(bare.stack.flows, MAX_BRIEF_ASSOCIATIONS);
  });

  test('answered queries give way after a second, and to none before', () => {
    const { bare, ended, respond } = rig(65_536);
    for (let i = 0; i < MAX_BRIEF_OF_CLIENT; i++) {
      bare.receive(datagram(FLOOD, 1024 + i, DNS));
      respond(1024 + i);
    }
    bare.receive(datagram(FLOOD, 50_000, DNS));
    assert.deepEqual(ended, []);
    respond(50_000);
    bare.advance(1000);
    bare.receive(datagram(FLOOD, 50_001, DNS));
    assert.equal(ended.length, 1);
  });
});

describe('what a client has sent before its connection ended', () => {
  const SENT = Buffer.alloc(1000, 'data');
  const ISS = 1000;

  /** Connections of a client, one for each of `ends`, which are what follows its data. */
  function ended(ends: readonly number[]) {
    const clock = new ManualClock();
    const links: TcpLink[] = [];
    const bare = new BareStack({
      onEvent: ({ network, flow, event }, { tcp }) => {
        if (network !== 'tcp') return;
        if (event === 'requested') {
          links.push(new TcpLink({ clock, touch: (one) => tcp.touch(one) }, flow));
          tcp.accept(flow);
        } else flow.owner?.onEvent(event);
      },
    });
    for (const [index, end] of ends.entries()) {
      const source = endpoint(FLOOD, 1024 + index);
      const send = (fields: Partial<ReturnType<typeof segment>>, data?: Uint8Array): Uint8Array => {
        const ports = { sourcePort: source.port, destinationPort: SERVER4.port, window: 60_000 };
        const packet = tcpPacket(segment({ ...ports, ...fields }), data, {
          source,
          destination: SERVER4,
        });
        return bare.receive(packet)[0] ?? packet;
      };
      const synAck = sentSegment(send({ sequence: ISS, flags: TcpFlag.SYN })).tcp;
      const acknowledgment = synAck.sequence + 1;
      const sequence = ISS + 1;
      send({ sequence, acknowledgment, flags: TcpFlag.ACK }, SENT);
      send({ sequence: sequence + SENT.length, acknowledgment, flags: TcpFlag.ACK | end });
    }
    return { bare, links };
  }

  test('counts as memory of the stack until it is read', async () => {
    const { bare, links } = ended([TcpFlag.RST]);
    assert.equal(bare.stack.tcp.size, 0);
    assert.ok(bare.stack.tcp.held >= SENT.length, `${bare.stack.tcp.held} bytes`);
    const [link] = links;
    assert.ok(link);
    assert.deepEqual(Buffer.from((await link.read()) ?? []), SENT);
    assert.equal(bare.stack.tcp.held, 0);
    await assert.rejects(link.read(), /reset/);
  });

  test('counts until its link is destroyed, however it has ended', async () => {
    const { bare, links } = ended(Array.from({ length: 10 }, () => TcpFlag.RST));
    assert.ok(bare.stack.tcp.held >= 10 * SENT.length);
    for (const [index, link] of links.entries()) {
      if (index % 2 === 0) link.destroy();
      else link.destroy(new Error('killed'));
      await assert.rejects(link.read());
    }
    assert.equal(bare.stack.tcp.held, 0);
  });
});
