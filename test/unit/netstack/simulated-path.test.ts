import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { IpEndpoint } from '../../../src/ip/ip-endpoint.ts';
import type { Stack } from '../../../src/netstack/stack.ts';
import { MAX_SEND_BUFFER } from '../../../src/netstack/tcp/recovery-limits.ts';
import { plainTraits } from '../../support/netstack/device-pair.ts';
import { StackNode } from '../../support/netstack/stack-node.ts';
import { CLIENT_V4, CLIENT_V6, endpoint } from '../../support/netstack/stack-pair.ts';
import { TransferApp, type TransferOptions } from '../../support/netstack/transfer.ts';
import type { Node } from '../../support/simnet/node.ts';
import { bottleneck, corruption, delay, duplication, loss } from '../../support/simnet/path.ts';
import { SeededRandom } from '../../support/simnet/seeded-random.ts';
import { simulate } from '../../support/simnet/simulation.ts';

const KIB = 1024;
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

async function run(scenario: Scenario, seed: number): Promise<number> {
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
    check,
  });
  const server = new StackNode({
    name: 'server',
    app: new TransferApp(transfer),
    addresses: 'any',
    seed: seed + 2,
    traits,
    check,
  });
  const nodes = [client, ...path(random), server, ...path(random)];
  return simulate(nodes, { seed, limit: scenario.limit });
}

describe('two stacks on a simulated path', () => {
  for (const scenario of scenarios) {
    test(`the right bytes arrive over ${scenario.name}`, async () => {
      for (let seed = 1; seed <= 5; seed++) {
        const time = await run(scenario, seed * 100);
        assert.ok(time > 0);
      }
    });
  }
});
