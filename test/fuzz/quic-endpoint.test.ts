import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IpEndpoint } from '@weir/base/ip';
import { QuicEndpoint } from '@weir/quic';
import {
  MAX_UNVALIDATED_HANDSHAKES,
  MAX_WAITING_BYTES,
  MAX_LOCAL_IDS,
} from '../../packages/quic/src/limits.ts';
import type { CloseReason } from '../../packages/quic/src/contract.ts';
import { numeric } from '../support/quic/endpoint/memory-network.ts';
import { MemoryQuic } from '../support/quic/endpoint/memory-quic.ts';
import { openStream } from '../support/quic/endpoint/quic-ends.ts';
import { SeededRandom } from '../support/simnet/seeded-random.ts';

const ROUNDS = Number(process.env['WEIR_ROUNDS'] ?? 1500);
const SEED = Number(process.env['WEIR_SEED'] ?? Date.now() % 1_000_000);
const RUNS = 3;
/** Datagrams of real connections that are kept to be replayed. */
const POOL = 500;
/** Clients that are dialled besides the live one. */
const CLIENTS = 30;

/** Changes a datagram a little, or much. */
function mutate(random: SeededRandom, bytes: Buffer, other: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  switch (random.below(7)) {
    case 0:
      return copy.subarray(0, random.below(copy.length + 1));
    case 1:
      return Buffer.concat([copy, random.bytes(random.below(200))]);
    case 2:
      return Buffer.concat([copy, other]);
    case 3: {
      const at = random.below(copy.length + 1);
      return Buffer.concat([copy.subarray(0, at), other.subarray(at)]);
    }
    case 4:
      return Buffer.from(random.bytes(random.below(1500)));
    default:
      // Headers are where most is decided.
      for (let flips = 1 + random.below(4); flips > 0 && copy.length > 0; flips--) {
        const at = random.below(random.chance(0.7) ? Math.min(60, copy.length) : copy.length);
        copy[at] = random.below(256);
      }
      return copy;
  }
}

for (let run = 0; run < RUNS; run++) {
  const seed = SEED + run;
  test(`any datagrams from any sources leave an endpoint intact, WEIR_SEED=${seed}`, async () => {
    const random = new SeededRandom(seed);
    await using quic = await MemoryQuic.open({ random: new SeededRandom(seed + 1) });
    const { ends, network, clock, sockets } = quic;
    // The live client has a socket of its own, whose datagrams are not lost.
    const live = await QuicEndpoint.bind(
      (options, handlers) => network.bind(options, handlers),
      numeric('127.0.0.1', 0),
      { clock, random: new SeededRandom(seed + 2), soon: network.soon },
    );
    const near = ends.dial({ keepAlive: 5000 }, live);
    const far = await quic.run(ends.accept());
    await quic.run(near.connection.established);
    const { connections } = ends.server.held;
    const closed: CloseReason[] = [];
    for (const { connection } of [near, far]) {
      void connection.closed.then((reason) => closed.push(reason));
    }

    const pool: Buffer[] = [Buffer.alloc(0)];
    const isLive = new Set<Buffer>();
    network.fate = (bytes, from, to) => {
      const copy = Buffer.from(bytes);
      pool[pool.length < POOL ? pool.length : random.below(POOL)] = copy;
      // Those of the live client are changed before they are sent again.
      if (from.port !== live.local.port && to.port !== live.local.port) {
        return random.chance(0.3) ? 'lost' : 1;
      }
      isLive.add(copy);
      return 1;
    };
    const probe = await quic.run(openStream(near, far));

    const sources: IpEndpoint[] = sockets.map(({ local }) => local);
    for (let i = 0; i < 40; i++) {
      sources.push(numeric(`203.0.113.${random.below(256)}`, 1 + random.below(65_535)));
    }
    const pick = (): Buffer => pool[random.below(pool.length)] ?? Buffer.alloc(0);
    const dialled: Promise<unknown>[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      if (dialled.length < CLIENTS && random.chance(0.1)) {
        const { connection } = ends.dial();
        dialled.push(connection.established.catch(() => undefined));
      }
      for (let burst = random.below(8); burst > 0; burst--) {
        const datagram = pick();
        const isReplayed = !isLive.has(datagram) && random.chance(0.3);
        const bytes = isReplayed ? datagram : mutate(random, datagram, pick());
        const stride = random.chance(0.1) ? 1 + random.below(1500) : undefined;
        const source = sources[random.below(sources.length)] as IpEndpoint; // there are 42
        sockets[random.below(4) === 0 ? 1 : 0]?.deliver(bytes, source, stride);
      }
      assert.ok(ends.server.waitingBytes <= MAX_WAITING_BYTES);
      await network.turn();
      clock.advance(random.chance(0.05) ? random.below(1500) : random.below(3));
      const { held } = ends.server;
      const most = connections + dialled.length + 2 * MAX_UNVALIDATED_HANDSHAKES;
      assert.ok(held.connections <= most, `${held.connections} connections`);
      assert.ok(held.ids <= most * (MAX_LOCAL_IDS + 1), `${held.ids} ids`);
    }

    // All that came of it ends by itself, and the live connection has not noticed.
    network.fate = () => 1;
    for (let seconds = 0; seconds < 80; seconds++) {
      for (let i = 0; i < 20; i++) {
        clock.advance(50);
        await network.settle();
      }
    }
    await Promise.all(dialled);
    assert.deepEqual(closed, []);
    assert.equal(ends.server.held.connections, 1);
    assert.ok(ends.server.held.ids <= MAX_LOCAL_IDS);
    assert.equal(ends.client.held.connections, 0);
    await probe.left.write(Buffer.from('still there?'));
    assert.equal(String(await quic.run(probe.right.read())), 'still there?');
    near.connection.close(0x100);
    live.retire();
    await quic.run(live.closed);
  });
}
