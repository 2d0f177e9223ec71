import { bbr, fixedRate } from '@weir/congestion';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectionSettings } from '../../../src/connection/connection-options.ts';
import { DEFAULT_STREAM_GRANTS } from '../../../src/streams/grants.ts';
import { address } from '../../../../../test/support/quic/pair.ts';
import { ClientNode, ServerNode } from '../../../../../test/support/quic/sim.ts';
import type { Node } from '../../../../../test/support/simnet/node.ts';
import { bottleneck, delay, loss } from '../../../../../test/support/simnet/path.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';
import { simulate } from '../../../../../test/support/simnet/simulation.ts';
import { starved } from '../../../../../test/support/simnet/starved.ts';

const SERVER = address('192.0.2.2', 443);
const RATE = 2_500_000;
const RTT = 50;
/** The product of rate and round trip. */
const PIPE = (RATE * RTT) / 1000;

interface Flow {
  readonly client: ClientNode;
  readonly server: ServerNode;
}

/** A connection over which the server sends without end. */
function download(seed: number, port: number, settings: Partial<ConnectionSettings>): Flow {
  const client = new ClientNode(seed, address('192.0.2.1', port), SERVER, settings);
  const server = new ServerNode(seed, SERVER, settings);
  client.peer.keeps = false;
  let opened = false;
  client.onStep = () => {
    if (opened || !client.peer.has('established')) return;
    opened = true;
    client.peer.send(client.peer.connection.openStream(true) ?? -1, 1);
  };
  let answered = false;
  server.onStep = () => {
    if (answered || !server.peer?.streams.has(0)) return;
    answered = true;
    server.peer.send(0, 1e12);
  };
  return { client, server };
}

/** Bytes a second that a download gets between two times, in milliseconds. */
async function goodput(
  lossRate: number,
  queue: number,
  congestion: ConnectionSettings['congestion'],
  seed: number,
  rate = 0,
  host: (node: Node) => Node = (node) => node,
): Promise<number> {
  const random = new SeededRandom(seed);
  const { client, server } = download(seed, 1, { congestion });
  const from = 3000;
  const until = 9000;
  server.onAccept = (peer) => {
    if (rate > 0) peer.connection.useController(fixedRate(rate));
  };
  let atStart = 0;
  let now = 0;
  const received = (): number => client.peer.streams.get(0)?.bytes ?? 0;
  const opened = client.onStep;
  client.onStep = (at) => {
    opened?.(at);
    now = at;
    if (at < from) atStart = received();
  };
  client.isDone = () => now >= until;
  await simulate(
    [
      host(client),
      delay(RTT / 2),
      host(server),
      bottleneck(RATE, queue),
      loss(random, lossRate),
      delay(RTT / 2),
    ],
    { seed, limit: 60_000 },
  );
  return (received() - atStart) / ((now - from) / 1000);
}

for (const seed of [1, 2]) {
  test(`BBR gets within 15 % of a bottleneck at 2 % loss, seed ${seed}`, async () => {
    const rate = await goodput(0.02, PIPE, bbr, seed);
    assert.ok(rate >= 0.85 * RATE, `${((100 * rate) / RATE).toFixed(1)} %`);
  });
}

for (const seed of [1, 2, 3]) {
  test(`BBR finds the bandwidth when both processes wait for the processor, seed ${seed}`, async () => {
    const turns = new SeededRandom(seed);
    const host = (node: Node): Node => starved(node, turns, 10, 20);
    const rate = await goodput(0.01, PIPE, bbr, seed, 0, host);
    assert.ok(rate >= 0.6 * RATE, `${((100 * rate) / RATE).toFixed(1)} %`);
  });
}

test('a fixed rate is kept at 10 % loss', async () => {
  const rate = await goodput(0.1, PIPE, bbr, 1, 1_500_000);
  assert.ok(rate > 0.9 * 1_500_000 && rate < 1.1 * 1_500_000, `${rate} bytes a second`);
});

for (const window of [1.5, 2, 3]) {
  test(`streams that fill a receive window of ${window} products leave no standing queue`, async () => {
    const grants = {
      ...DEFAULT_STREAM_GRANTS,
      connectionWindow: window * PIPE,
      maxConnectionWindow: window * PIPE,
    };
    const client = new ClientNode(1, address('192.0.2.1', 1), SERVER, { grants });
    const server = new ServerNode(1, SERVER);
    client.peer.keeps = false;
    let opened = 0;
    let now = 0;
    client.onStep = (at) => {
      now = at;
      if (!client.peer.has('established')) return;
      for (; opened < 32; opened++) {
        client.peer.send(client.peer.connection.openStream(true) ?? -1, 1);
      }
    };
    const answered = new Set<number>();
    const queue = bottleneck(RATE, PIPE);
    let smoothedRtt = 0;
    let samples = 0;
    let atStart = { packetsLost: 0, packetsSent: 0 };
    server.onStep = (at) => {
      const { peer } = server;
      for (const id of peer?.streams.keys() ?? []) {
        if (!answered.has(id)) peer?.send(id, 1e12);
        answered.add(id);
      }
      const statistics = peer?.connection.statistics();
      if (statistics === undefined) return;
      if (at < 3000) atStart = statistics;
      else {
        smoothedRtt += statistics.smoothedRtt;
        samples++;
      }
    };
    client.isDone = () => now >= 8000;
    await simulate([client, delay(RTT / 2), server, queue, delay(RTT / 2)], {
      seed: 1,
      limit: 60_000,
    });
    const end = server.peer?.connection.statistics() ?? atStart;
    const lost = end.packetsLost - atStart.packetsLost;
    const sent = end.packetsSent - atStart.packetsSent;
    assert.ok(lost < 0.005 * sent, `${lost} of ${sent} packets lost`);
    assert.ok(smoothedRtt / samples < 1.3 * RTT, `a round trip of ${smoothedRtt / samples} ms`);
    assert.ok(sent > 0.85 * 5 * (RATE / 1472), `${sent} packets in 5 s`);
  });
}

test('a host that waits for its processor and whose buffer overflows is no black hole (RFC 8899 §4.3)', async () => {
  for (let seed = 1; seed <= 2; seed++) {
    const turns = new SeededRandom(seed);
    const { client, server } = download(seed, 1, {});
    let now = 0;
    let probed = 0;
    const opened = client.onStep;
    client.onStep = (at) => {
      opened?.(at);
      now = at;
    };
    server.onStep = ((begin) => (at: number) => {
      begin?.(at);
      const size = server.peer?.connection.statistics().datagramSize ?? 0;
      assert.ok(size >= probed, `${size} bytes at ${at} ms, seed ${seed}`);
      probed = size;
    })(server.onStep);
    client.isDone = () => now >= 1000;
    await simulate(
      [
        starved(client, turns, 10, 20, 212_000),
        delay(0.2),
        starved(server, turns, 10, 20, 212_000),
        bottleneck(60_000_000, 400_000),
        delay(0.2),
      ],
      { seed, limit: 60_000 },
    );
    assert.equal(probed, 1472);
  }
});
