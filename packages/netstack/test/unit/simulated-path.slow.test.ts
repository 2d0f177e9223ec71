import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { IpEndpoint } from '@weir/base/ip';
import { writeIcmpError } from '../../src/ip/icmp-replies.ts';
import type { Stack } from '../../src/stack.ts';
import { LEAST_BUFFER, MAX_SEND_BUFFER, MAX_BACKLOG } from '../../src/limits.ts';
import type { TcpFlow } from '../../src/flows/tcp-flow.ts';
import { TcpFlag } from '../../src/wire/tcp.ts';
import { plainTraits } from '../../../../test/support/netstack/device-pair.ts';
import { StackNode } from '../../../../test/support/netstack/stack-node.ts';
import { CLIENT_V4, CLIENT_V6, endpoint } from '../../../../test/support/netstack/stack-pair.ts';
import { TransferApp, type TransferOptions } from '../../../../test/support/netstack/transfer.ts';
import { CLIENT4, parsed, segment, tcpPacket } from '../../../../test/support/data/ip-packets.ts';
import {
  IDLE,
  send,
  wait,
  type Datagram,
  type Node,
  type Output,
} from '../../../../test/support/simnet/node.ts';
import {
  bottleneck,
  corruption,
  delay,
  duplication,
  loss,
} from '../../../../test/support/simnet/path.ts';
import { SeededRandom } from '../../../../test/support/simnet/seeded-random.ts';
import { simulate } from '../../../../test/support/simnet/simulation.ts';

const KIB = 1024;
const NOWHERE = { host: '', port: 0 };
const SERVERS = { 4: endpoint('192.0.2.80', 80), 6: endpoint('2001:db8::80', 80) };

interface Scenario {
  readonly name: string;
  readonly transfer: TransferOptions;
  readonly path: (random: SeededRandom) => Node[];
  /** Virtual milliseconds for everything. */
  readonly limit: number;
  readonly family?: 4 | 6;
  readonly mtu?: number;
}

const scenarios: readonly Scenario[] = [
  {
    name: 'a clean path of 20 ms',
    transfer: { connections: 1, up: 2048 * KIB, down: 512 * KIB },
    path: () => [delay(10)],
    limit: 5000,
  },
  {
    name: 'one packet in 100 lost',
    transfer: { connections: 2, up: 512 * KIB, down: 512 * KIB },
    path: (random) => [delay(10), loss(random, 0.01)],
    limit: 60_000,
  },
  {
    name: 'one packet in 10 lost',
    transfer: { connections: 2, up: 128 * KIB, down: 128 * KIB },
    path: (random) => [delay(10), loss(random, 0.1)],
    limit: 240_000,
    family: 6,
  },
  {
    name: 'packets that overtake each other',
    transfer: { connections: 1, up: 512 * KIB, down: 512 * KIB },
    path: (random) => [delay(20, 15, random)],
    limit: 60_000,
  },
  {
    name: 'packets that come twice',
    transfer: { connections: 1, up: 256 * KIB, down: 256 * KIB },
    path: (random) => [delay(5), duplication(random, 0.3)],
    limit: 30_000,
  },
  {
    name: 'one packet in 50 corrupted',
    transfer: { connections: 1, up: 256 * KIB, down: 256 * KIB },
    path: (random) => [delay(5), corruption(random, 0.02)],
    limit: 60_000,
    family: 6,
  },
  {
    name: 'a bottleneck of 10 Mbit/s with a short queue',
    transfer: { connections: 4, up: 512 * KIB, down: 32 * KIB },
    path: () => [bottleneck(1_250_000, 64 * KIB), delay(15)],
    limit: 60_000,
  },
  {
    name: 'everything at once',
    transfer: { connections: 3, up: 128 * KIB, down: 128 * KIB },
    path: (random) => [
      bottleneck(2_500_000, 128 * KIB),
      loss(random, 0.03),
      duplication(random, 0.03),
      corruption(random, 0.01),
      delay(15, 10, random),
    ],
    limit: 240_000,
    mtu: 1280,
  },
];

/** What must hold at any time. */
function check(stack: Stack): void {
  for (const { connection } of stack.tcp) {
    assert.ok(connection.unacknowledged <= MAX_SEND_BUFFER + 64 * KIB);
  }
}

async function run(scenario: Scenario, seed: number, isPaced = false): Promise<number> {
  const random = new SeededRandom(seed);
  const { family = 4, mtu = 1500, transfer, path } = scenario;
  const to: IpEndpoint = SERVERS[family];
  const traits = plainTraits(mtu);
  const client = new StackNode({
    name: 'client',
    app: new TransferApp(transfer, to),
    addresses: [CLIENT_V4, CLIENT_V6],
    seed: seed + 1,
    traits,
    isPaced,
    check,
  });
  const server = new StackNode({
    name: 'server',
    app: new TransferApp(transfer),
    addresses: 'any',
    seed: seed + 2,
    traits,
    isPaced,
    check,
  });
  const nodes = [client, ...path(random), server, ...path(random)];
  return simulate(nodes, { seed, limit: scenario.limit });
}

/** The same once in each moment, for a stack with thousands of flows. */
function checkMoments(): (stack: Stack, now: number) => void {
  let last = -1;
  return (stack, now) => {
    if (now > last) check(stack);
    last = now;
  };
}

/** A client and a server with a transfer between them, on a path there and one back. */
function pairOf(
  transfer: TransferOptions,
  seed: number,
  checkServer: (stack: Stack, now: number) => void = check,
): [StackNode, StackNode] {
  const client = new StackNode({
    name: 'client',
    app: new TransferApp(transfer, SERVERS[4]),
    addresses: [CLIENT_V4],
    seed,
    check,
  });
  const app = new TransferApp(transfer);
  const server = new StackNode({
    name: 'server',
    app,
    addresses: 'any',
    seed: seed + 1,
    check: checkServer,
  });
  return [client, server];
}

/**
 * A router whose next link takes no more than `mtu` bytes from a time on, and which reports that: the node of
 * the way there, and one of the way back.
 */
function narrowRouter(
  mtu: number,
  from: number,
): { there: Node; back: Node; reports: () => number } {
  const passed: Datagram[] = [];
  const reports: Datagram[] = [];
  let count = 0;
  const there: Node = {
    name: 'router',
    process(datagram, now) {
      if (datagram && (now < from || datagram.data.length <= mtu)) passed.push(datagram);
      else if (datagram) {
        const report = new Uint8Array(1500);
        const cause = parsed(datagram.data);
        const size = writeIcmpError('too big', cause, endpoint('10.9.9.9', 0), mtu, report, 0);
        reports.push({ ...datagram, data: report.subarray(0, size) });
        count++;
      }
      const next = passed.shift();
      return next ? send(next) : IDLE;
    },
  };
  const back: Node = {
    name: 'reports of the router',
    process(datagram) {
      if (datagram) reports.push(datagram);
      const next = reports.shift();
      return next ? send(next) : IDLE;
    },
  };
  return { there, back, reports: () => count };
}

/** Adds so many SYNs of addresses without a host to what passes, some in each millisecond. */
function synFlood(count: number): Node {
  const ready: Datagram[] = [];
  let sent = 0;
  return {
    name: 'flood',
    process(datagram, now): Output {
      if (datagram) ready.push(datagram);
      for (; sent < count && sent < now * 50; sent++) {
        const source = { ...CLIENT4, d: CLIENT4.d + (sent % 5), port: 1024 + sent };
        const header = segment({ sourcePort: source.port, flags: TcpFlag.SYN, mss: 1460 });
        const data = tcpPacket(header, new Uint8Array(0), { source });
        ready.push({ data, from: NOWHERE, to: NOWHERE });
      }
      const next = ready.shift();
      if (next) return send(next);
      return sent < count ? wait(now + 1) : IDLE;
    },
  };
}

describe('a path on which something happens', () => {
  test('a transfer goes on where routers take smaller packets from a time on', async () => {
    const [client, server] = pairOf({ connections: 2, up: 1024 * KIB, down: 64 * KIB }, 1);
    const { there, back, reports } = narrowRouter(1300, 100);
    await simulate([client, delay(10), there, server, back, delay(10)], { seed: 1, limit: 20_000 });
    assert.ok(reports() > 0);
    // What is in flight when the path changes is reported, and nothing that is sent later.
    assert.ok(reports() < 400, `${reports()} reports`);
  });

  test('transfers go on within the memory that all connections share', async () => {
    const held = async (maxHeld?: number): Promise<number> => {
      const transfer = { connections: 8, up: 2048 * KIB, down: 0 };
      let most = 0;
      const app = new TransferApp(transfer, SERVERS[4]);
      const client = new StackNode({
        name: 'client',
        app,
        addresses: [CLIENT_V4],
        seed: 1,
        ...(maxHeld !== undefined && { maxHeld }),
        check: ({ tcp }) => (most = Math.max(most, tcp.held)),
      });
      const [, server] = pairOf(transfer, 2);
      await simulate([client, delay(50), server, delay(50)], { seed: 1, limit: 60_000 });
      return most;
    };
    const free = await held();
    assert.ok(free > 8 * 512 * KIB, `${free} bytes`);
    // A writer waits when it has passed a bound: the last chunk of each is above it.
    for (const bound of [1024 * KIB, 256 * KIB]) {
      const bounded = await held(bound);
      assert.ok(bounded < bound + 8 * (LEAST_BUFFER + 24 * KIB), `${bounded} bytes`);
    }
  });

  test('a transfer goes on beside 10,000 SYNs without a host behind them', async () => {
    const isOurs = ({ remote, local }: TcpFlow): boolean =>
      remote.d === CLIENT_V4.d || local.d === CLIENT_V4.d;
    const transfer = { connections: 4, up: 512 * KIB, down: 512 * KIB, isOurs };
    const [client, server] = pairOf(transfer, 7, checkMoments());
    let most = 0;
    const nodes = [client, delay(10), synFlood(10_000), server, delay(10)];
    nodes.push({
      name: 'observer',
      process(datagram) {
        most = Math.max(most, server.stack.flows);
        return datagram ? send(datagram) : IDLE;
      },
    });
    await simulate(nodes, { seed: 7, limit: 30_000 });
    assert.ok(most > 1000, `${most} flows`);
    assert.ok(most <= MAX_BACKLOG + 4, `${most} flows`);
  });
});

describe('pacing', () => {
  test('fills a path', async () => {
    const transfer = { connections: 1, up: 2048 * KIB, down: 0 };
    const app = new TransferApp(transfer, SERVERS[4]);
    const addresses = [CLIENT_V4];
    const client = new StackNode({ name: 'client', app, addresses, seed: 1, isPaced: true, check });
    const [, server] = pairOf(transfer, 2);
    const path = [bottleneck(1_250_000, 30_000), delay(20)];
    const time = await simulate([client, ...path, server, delay(20)], { seed: 1, limit: 20_000 });
    assert.ok(time < 2600, `${time} ms, of 1,678 at the least`);
  });
});

describe('two stacks on a simulated path', () => {
  for (const scenario of scenarios) {
    test(`the right bytes arrive over ${scenario.name}`, async () => {
      for (let seed = 1; seed <= 5; seed++) {
        const time = await run(scenario, seed * 100);
        assert.ok(time > 0);
      }
    });

    test(`the right bytes arrive, paced, over ${scenario.name}`, async () => {
      for (let seed = 6; seed <= 7; seed++) assert.ok((await run(scenario, seed * 100, true)) > 0);
    });
  }
});
