import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address } from '../../../../../test/support/quic/pair.ts';
import { pattern } from '../../../../../test/support/quic/peer.ts';
import { ClientNode, ServerNode } from '../../../../../test/support/quic/sim.ts';
import type { Node } from '../../../../../test/support/simnet/node.ts';
import {
  addressChange,
  blackHole,
  bottleneck,
  corruption,
  delay,
  duplication,
  loss,
} from '../../../../../test/support/simnet/path.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';
import { simulate } from '../../../../../test/support/simnet/simulation.ts';

const CLIENT = address('192.0.2.1', 40_000);
const SERVER = address('192.0.2.2', 443);
const CHUNK = 16_384;

/** The nodes of one direction, in their order. */
type MakePath = (random: SeededRandom) => readonly Node[];

interface Scenario {
  readonly path: MakePath;
  /** Where the two directions differ. */
  readonly back?: MakePath;
  readonly bytes?: number;
  readonly limit?: number;
  readonly seed?: number;
}

/** What `bytes` of the repeated pattern of `Peer.send` are. */
function expected(bytes: number): Buffer {
  const chunk = pattern(CHUNK);
  const all = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += CHUNK) all.set(chunk.subarray(0, bytes - at), at);
  return all;
}

/** Three streams up and down over a path; returns how long they took. */
async function transfer({
  path,
  back = path,
  bytes = 400_000,
  limit = 120_000,
  seed = 1,
}: Scenario): Promise<number> {
  const random = new SeededRandom(seed);
  const client = new ClientNode(seed, CLIENT, SERVER, { idleTimeout: 120_000 });
  const server = new ServerNode(seed, SERVER, { idleTimeout: 120_000 });
  let opened = false;
  const answered = new Set<number>();
  client.onStep = () => {
    if (opened || !client.peer.has('established')) return;
    opened = true;
    for (let i = 0; i < 3; i++) {
      const id = client.peer.connection.openStream(true);
      assert.ok(id !== undefined);
      client.peer.send(id, bytes);
    }
  };
  server.onStep = () => {
    for (const id of server.peer?.streams.keys() ?? []) {
      if (answered.has(id)) continue;
      answered.add(id);
      server.peer?.send(id, bytes);
    }
  };
  const ended = (logs: ReadonlyMap<number, { readonly end: string }> | undefined): boolean =>
    logs?.size === 3 && [...logs.values()].every(({ end }) => end === 'finished');
  server.isDone = () => ended(server.peer?.streams);
  client.isDone = () => {
    for (let i = 0; i < 3; i++) if (opened && !client.peer.streams.has(4 * i)) return false;
    return ended(client.peer.streams);
  };
  const took = await simulate([client, ...path(random), server, ...back(random)], { seed, limit });
  const all = expected(bytes);
  for (const id of [0, 4, 8]) {
    assert.ok(server.peer?.received(id).equals(all), `stream ${id} up`);
    assert.ok(client.peer.received(id).equals(all), `stream ${id} down`);
  }
  return took;
}

const SCENARIOS: readonly (readonly [string, Scenario])[] = [
  ['10 % loss at 300 ms', { path: (random) => [loss(random, 0.1), delay(150)] }],
  ['duplication', { path: (random) => [duplication(random, 0.3), delay(20)] }],
  ['corruption', { path: (random) => [corruption(random, 0.05), delay(20)] }],
  [
    'everything at once',
    {
      path: (random) => [
        loss(random, 0.03),
        duplication(random, 0.03),
        corruption(random, 0.02),
        delay(40, 15, random),
      ],
    },
  ],
  [
    'a bottleneck with a queue of 20 packets',
    { path: () => [bottleneck(1_250_000, 30_000), delay(20)], back: () => [delay(20)] },
  ],
  ['two seconds without anything', { path: () => [blackHole(300, 2300), delay(20)] }],
  [
    'a client that moves to another network',
    {
      path: () => [addressChange(250, { host: '198.51.100.1', port: 50_000 }), delay(20)],
      back: () => [delay(20)],
    },
  ],
];

for (const [name, scenario] of SCENARIOS) {
  for (const seed of [1, 2]) {
    test(`all bytes arrive over a path with ${name}, seed ${seed}`, async () => {
      await transfer({ ...scenario, seed });
    });
  }
}
