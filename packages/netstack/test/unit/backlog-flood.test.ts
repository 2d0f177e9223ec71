import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Stack } from '../../src/stack.ts';
import type { StackEvent } from '../../src/flows/flow-queues.ts';
import type { TcpFlow } from '../../src/flows/tcp-flow.ts';
import { MAX_BACKLOG, MAX_BACKLOG_PER_ADDRESS } from '../../src/limits.ts';
import { TcpFlag } from '../../src/wire/tcp.ts';
import { endpoint, segment, tcpPacket } from '../../../../test/support/data/ip-packets.ts';
import { BareStack, sentSegment } from '../../../../test/support/netstack/bare-stack.ts';

const { SYN, ACK } = TcpFlag;
const [FLOODS, HONEST] = [['192.0.2.1', '192.0.2.2'], '192.0.2.9'] as const;
const [SILENT, SERVED] = ['198.18.0.1', '203.0.113.7'] as const;

const packet = (
  client: string,
  port: number,
  host: string,
  flags: number,
  numbers: { readonly sequence?: number; readonly acknowledgment?: number } = {},
): Uint8Array =>
  tcpPacket(segment({ sourcePort: port, destinationPort: 80, flags, ...numbers }), undefined, {
    source: endpoint(client, port),
    destination: endpoint(host, 80),
  });

/** A stack whose requests are decided by hand; those to the silent network never are. */
function rig(maxFlows = 65_536) {
  const requested: TcpFlow[] = [];
  const failed: TcpFlow[] = [];
  const take = ({ network, flow, event }: StackEvent, _stack: Stack): void => {
    if (network !== 'tcp') return;
    if (event === 'requested') requested.push(flow);
    if (event === 'failed') failed.push(flow);
  };
  const bare = new BareStack({ settings: { maxFlows }, onEvent: take });
  const flood = (clients: readonly string[], count: number): Uint8Array[] => {
    const sent: Uint8Array[] = [];
    for (let i = 0; i < count; i++) {
      for (const client of clients)
        sent.push(...bare.receive(packet(client, 1024 + i, SILENT, SYN)));
    }
    return sent;
  };
  /** Requests a connection and accepts it. @returns the acknowledgment of its SYN-ACK. */
  const begin = (client: string, port: number): number => {
    bare.receive(packet(client, port, SERVED, SYN));
    const flow = requested.at(-1);
    assert.equal(flow?.remote.port, port);
    assert.ok(flow);
    bare.stack.tcp.accept(flow);
    const { tcp } = sentSegment(bare.settle()[0]);
    return tcp.sequence + 1;
  };
  const complete = (client: string, port: number, acknowledgment: number): TcpFlow | undefined => {
    bare.receive(packet(client, port, SERVED, ACK, { sequence: 1, acknowledgment }));
    return requested.find(({ remote }) => remote.port === port);
  };
  return { bare, requested, failed, flood, begin, complete };
}

describe('a flood of SYNs to a silent network', () => {
  test('from two clients keeps no other one from connecting, nor ends one that waits for an ACK', () => {
    const { bare, failed, flood, begin, complete } = rig();
    const acknowledgment = begin(HONEST, 50_000);
    flood(FLOODS, MAX_BACKLOG);
    assert.equal(bare.stack.flows, MAX_BACKLOG);
    for (let port = 50_001; port < 50_010; port++) {
      const flow = complete(HONEST, port, begin(HONEST, port));
      assert.equal(flow?.connection.state, 'ESTABLISHED');
    }
    assert.equal(complete(HONEST, 50_000, acknowledgment)?.connection.state, 'ESTABLISHED');
    assert.ok(failed.every(({ remote }) => remote.port < 50_000));
  });

  test('keeps a program of the same address from connecting to no other network', () => {
    const { bare, flood, begin, complete } = rig();
    const [flooding] = FLOODS;
    flood([flooding], MAX_BACKLOG);
    assert.equal(bare.stack.flows, MAX_BACKLOG_PER_ADDRESS);
    // The replacements without a better claim are used up in this second.
    for (let port = 50_000; port < 50_010; port++) {
      const flow = complete(flooding, port, begin(flooding, port));
      assert.equal(flow?.connection.state, 'ESTABLISHED');
    }
  });

  test('that fills max_flows keeps no other client from connecting', () => {
    const { bare, flood, begin, complete } = rig(100);
    flood(FLOODS, 200);
    assert.equal(bare.stack.flows, 100);
    const flow = complete(HONEST, 50_000, begin(HONEST, 50_000));
    assert.equal(flow?.connection.state, 'ESTABLISHED');
    assert.equal(bare.stack.flows, 100);
  });

  test('a dial that gives way leaves nothing, and its client hears nothing', () => {
    const { bare, requested, failed, flood } = rig();
    const sent = flood(FLOODS, MAX_BACKLOG);
    assert.deepEqual(sent, []);
    assert.ok(failed.length > 0);
    assert.equal(requested.length - failed.length, bare.stack.flows);
    const [first] = failed;
    assert.ok(first?.isForgotten);
    // Its SYN is a request again when it is repeated.
    const before = requested.length;
    bare.advance(1000);
    bare.receive(packet(HONEST, first.remote.port, SILENT, SYN));
    assert.equal(requested.length, before + 1);
  });
});

describe('a client that keeps all connections established', () => {
  /** A hundred connections of one client, at a limit of as many. */
  function full() {
    const made = rig(100);
    const { bare, begin, complete } = made;
    for (let port = 1024; port < 1124; port++) {
      complete(FLOODS[0], port, begin(FLOODS[0], port));
      bare.advance(1000);
    }
    assert.equal(bare.stack.flows, 100);
    return made;
  }

  test('gives way to one that has far fewer, with connections that are silent, by a reset', () => {
    const { bare, failed, begin, complete } = full();
    for (let i = 0; i < 5; i++) {
      const [reset, ...rest] = bare
        .receive(packet(HONEST, 50_000 + i, SERVED, SYN))
        .map(sentSegment);
      assert.deepEqual(rest, []);
      assert.equal(reset?.tcp.destinationPort, failed[i]?.remote.port);
      assert.ok(((reset?.tcp.flags ?? 0) & TcpFlag.RST) !== 0);
      const acknowledgment = begin(HONEST, 50_000 + i);
      const flow = complete(HONEST, 50_000 + i, acknowledgment);
      assert.equal(flow?.connection.state, 'ESTABLISHED');
      assert.equal(bare.stack.flows, 100);
    }
    // The connections that were made last, and the newcomer's, go on.
    assert.ok(
      failed.every(({ remote }) => remote.port < 1100),
      'those that were silent for long',
    );
    // It has a fair part now: what is open of the other goes on.
    bare.receive(packet(HONEST, 50_005, SERVED, SYN));
    assert.equal(failed.length, 5);
    assert.equal(bare.drops.at(-1), 'flow limit');
  });

  test('loses few to SYNs of forged addresses, and none to its own', () => {
    const { bare, failed } = full();
    for (let i = 0; i < 500; i++) {
      bare.receive(packet(`10.${i >> 8}.${i & 255}.1`, 2000, SILENT, SYN));
      bare.receive(packet(FLOODS[0], 2000 + i, SERVED, SYN));
    }
    const ended = failed.filter(({ remote }) => remote.port < 2000);
    assert.ok(ended.length > 0 && ended.length <= 7, `${ended.length} were ended`);
  });
});
