import { bbr, cubic } from '@weir/congestion';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address } from '../../../../../test/support/quic/pair.ts';
import { pattern } from '../../../../../test/support/quic/peer.ts';
import { ClientNode, ServerNode } from '../../../../../test/support/quic/sim.ts';
import { bottleneck, delay, loss } from '../../../../../test/support/simnet/path.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';
import { simulate } from '../../../../../test/support/simnet/simulation.ts';

const CLIENT = address('192.0.2.1', 40_000);
const SERVER = address('192.0.2.2', 443);
const STREAMS = 300;
const GRANTS = {
  connectionWindow: 200_000,
  maxConnectionWindow: 400_000,
  unread: 600_000,
  windowGrowth: 100_000,
  streamWindow: 20_000,
  provenStreamWindow: 20_000,
  maxStreamWindow: 40_000,
  bidirectionalStreams: 20,
  unidirectionalStreams: 5,
};

/** Whether all streams of a side have closed; each event is looked at once. */
function closesAll(node: ClientNode | ServerNode): () => boolean {
  let seen = 0;
  let closed = 0;
  return () => {
    const { events = [] } = node.peer ?? {};
    for (; seen < events.length; seen++) if (events[seen]?.kind === 'stream-closed') closed++;
    return closed === STREAMS;
  };
}

for (const seed of [1, 2, 3, 4, 5]) {
  test(`hundreds of streams of all sizes, some reset, and datagrams between them, seed ${seed}`, async () => {
    const random = new SeededRandom(seed);
    const settings = {
      grants: GRANTS,
      maxDatagramFrameSize: 65_535,
      idleTimeout: 60_000,
      congestion: seed % 2 === 0 ? cubic : bbr,
    } as const;
    const client = new ClientNode(seed, CLIENT, SERVER, settings);
    const server = new ServerNode(seed, SERVER, settings);
    const sizes = new Map<number, number>();
    const isReset = new Set<number>();
    let opened = 0;
    let sentDatagrams = 0;
    client.onStep = () => {
      if (!client.peer.has('established')) return;
      const { connection } = client.peer;
      if (random.chance(0.2) && connection.sendDatagram(pattern(1 + random.below(1000))))
        sentDatagrams++;
      while (opened < STREAMS) {
        const id = connection.openStream(opened % 7 !== 0);
        if (id === undefined) break;
        opened++;
        const size = random.below(60_000);
        sizes.set(id, size);
        client.peer.send(id, size, 4096);
        if (random.chance(0.1)) {
          isReset.add(id);
          connection.reset(id, 1);
        }
      }
    };
    const answered = new Set<number>();
    server.onStep = () => {
      const { peer } = server;
      if (peer === undefined) return;
      for (const [id, { end }] of peer.streams) {
        if (end === 'open' || answered.has(id) || id % 4 !== 0) continue;
        answered.add(id);
        if (random.chance(0.1)) peer.connection.reset(id, 2);
        else peer.send(id, 3000);
      }
    };
    client.isDone = closesAll(client);
    server.isDone = closesAll(server);
    await simulate(
      [
        client,
        loss(random, 0.02),
        delay(20, 5, random),
        server,
        bottleneck(1_000_000, 50_000),
        loss(random, 0.02),
        delay(20),
      ],
      { seed, limit: 300_000 },
    );
    for (const [id, size] of sizes) {
      const log = server.peer?.streams.get(id);
      if (isReset.has(id)) continue;
      assert.equal(log?.end, 'finished');
      assert.equal(log.bytes, size);
    }
    const arrived = server.peer?.datagrams.length ?? 0;
    assert.ok(arrived > 0.5 * sentDatagrams, `${arrived} of ${sentDatagrams} datagrams`);
    assert.ok(arrived <= sentDatagrams);
  });
}
