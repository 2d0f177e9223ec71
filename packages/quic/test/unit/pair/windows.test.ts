import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_STREAM_GRANTS, type StreamGrants } from '../../../src/streams/grants.ts';
import { Pair } from '../../../../../test/support/quic/pair.ts';

/** The windows of Weir, a tenth of them: their relations are the same. */
const GRANTS: StreamGrants = {
  connectionWindow: 200_000,
  maxConnectionWindow: 2_000_000,
  unread: 2_000_000 + 1024 * 4000,
  windowGrowth: 2_000_000,
  streamWindow: 4000,
  provenStreamWindow: 50_000,
  maxStreamWindow: 800_000,
  bidirectionalStreams: 2000,
  unidirectionalStreams: 2000,
};

interface World {
  readonly pair: Pair;
  /** Opens a stream of the client that has so much to send. */
  readonly greedy: (bytes: number) => number;
  /** The server reads all that a stream has; returns how much it has read of it. */
  readonly read: (id: number) => number;
  /** Reads one stream as fast as it comes, until it has all. */
  readonly readAll: (id: number, bytes: number) => void;
  /** The last limit that the server has granted, above what was sent of a stream or of all. */
  readonly window: (id?: number) => number;
}

function world(grants: Partial<StreamGrants> = {}, delay = 1): World {
  const server = { grants: { ...DEFAULT_STREAM_GRANTS, ...GRANTS, ...grants } };
  const pair = new Pair({ delay, server, watch: 'opened' }).connect();
  pair.advance(1000);
  pair.server.reads = false;
  pair.server.keeps = false;
  const sizes = new Map<number, number>();
  const read = (id: number): number => {
    pair.server.read(id);
    return pair.server.streams.get(id)?.bytes ?? 0;
  };
  return {
    pair,
    read,
    greedy: (bytes) => {
      const id = pair.client.connection.openStream(false) ?? -1;
      sizes.set(id, bytes);
      pair.client.send(id, bytes, 16_384, false);
      return id;
    },
    readAll: (id, bytes) => {
      pair.server.onEvent = (event) => {
        if (event.kind === 'stream-readable' && event.id === id) read(id);
      };
      read(id);
      pair.run(() => read(id) === bytes, 600_000);
      pair.advance(100);
      pair.server.onEvent = undefined;
    },
    window: (id) => {
      const lines = pair.tap.text('server', [id === undefined ? 'maxData' : 'maxStreamData']);
      const line = lines.findLast((one) => id === undefined || one.split(' ')[1] === String(id));
      const limit = Number(line?.split(' ').at(-1) ?? GRANTS.streamWindow);
      const all = [...sizes.values()].reduce((sum, size) => sum + size, 0);
      return limit - (id === undefined ? all : (sizes.get(id) ?? 0));
    },
  };
}

/** What of a stream has arrived and was not read. */
const unread = ({ pair }: World, id: number): number =>
  Math.max(
    0,
    ...pair.tap.packets
      .filter(({ from }) => from === 'client')
      .flatMap(({ frames }) => frames)
      .filter(([name, of]) => name === 'stream' && of === id)
      .map(([, , offset, data]) => (offset as number) + (data as Buffer).length),
  ) - (pair.server.streams.get(id)?.bytes ?? 0);

test('the windows grow to their maximum while the reader keeps up', () => {
  const { greedy, readAll, window } = world();
  const id = greedy(4_000_000);
  readAll(id, 4_000_000);
  const { maxStreamWindow, maxConnectionWindow } = GRANTS;
  assert.ok(window(id) > maxStreamWindow / 2 && window(id) <= maxStreamWindow, `${window(id)}`);
  assert.ok(window() > maxConnectionWindow / 2 && window() <= maxConnectionWindow);
});

test('a window grows to what lasts for a few round trips, and no more', () => {
  const { pair, greedy, readAll, window } = world({}, 50);
  // 0.3 MB/s and 100 ms: the path holds 30 kB.
  let free = 0;
  pair.lateness = (towards) => {
    if (towards === 'client') return 0;
    free = Math.max(free, pair.now) + 4;
    return free - pair.now;
  };
  const id = greedy(1_000_000);
  readAll(id, 1_000_000);
  assert.ok(window(id) >= 50_000 && window(id) <= 410_000, `${window(id)} bytes`);
});

test('the window of a slow reader does not grow', () => {
  const it = world();
  const { pair, greedy } = it;
  const id = greedy(400_000);
  for (let chunks = 0; chunks < 60; chunks++) {
    // The sender fills the window again at once.
    pair.advance(20);
    assert.ok(unread(it, id) <= GRANTS.provenStreamWindow);
    const chunk = pair.server.connection.read(id);
    const log = pair.server.streams.get(id);
    if (log && chunk instanceof Uint8Array) log.bytes += chunk.length;
  }
});

for (const count of [8, 300]) {
  test(`${count} streams that are not read get their first windows, and leave another one its rate`, () => {
    const it = world();
    const stuck = Array.from({ length: count }, () => it.greedy(8000));
    it.pair.advance(1000);
    for (const id of stuck.slice(0, 5)) assert.equal(unread(it, id), GRANTS.streamWindow);
    const quick = it.greedy(2_000_000);
    it.readAll(quick, 2_000_000);
    assert.ok(it.window(quick) >= GRANTS.maxStreamWindow / 2, `${it.window(quick)} bytes`);
    for (const id of stuck.slice(0, 5)) assert.equal(unread(it, id), GRANTS.streamWindow);
  });
}

for (const { count, least } of [
  { count: 20, least: 4 * GRANTS.streamWindow },
  { count: 200, least: GRANTS.streamWindow },
]) {
  test(`${count} streams whose readers stop after they have read do not stop another one`, () => {
    const { pair, greedy, read, readAll, window } = world();
    for (let i = 0; i < count; i++) {
      const id = greedy(100_000);
      pair.run(() => read(id) >= 50_000);
    }
    pair.advance(1000);
    const quick = greedy(1_600_000);
    readAll(quick, 1_600_000);
    // The limit may be behind by the part for which no frame is sent.
    assert.ok(window(quick) > least / 2, `${window(quick)} bytes`);
  });
}

test('what streams hold that are not read is bounded for all of them together', () => {
  const unreadMost = 400_000;
  const it = world({ unread: unreadMost, maxConnectionWindow: 200_000 });
  const ids = Array.from({ length: 200 }, () => it.greedy(8000));
  it.pair.advance(2000);
  const held = (): number => ids.reduce((sum, id) => sum + unread(it, id), 0);
  assert.ok(held() <= unreadMost && held() > unreadMost - 50_000, `${held()} bytes`);
  // They go on as soon as a little of one of them is read.
  const queued = (): number =>
    ids.reduce((sum, id) => sum + it.pair.client.connection.queued(id), 0);
  const before = queued();
  const size = it.read(ids[0] ?? -1);
  it.pair.advance(100);
  assert.equal(queued(), before - size);
});

test('windows that have grown give their memory back when their streams end', () => {
  const { pair, greedy, readAll, window } = world();
  for (let i = 0; i < 9; i++) {
    const id = greedy(1_000_000);
    readAll(id, 1_000_000);
    assert.ok(window(id) > GRANTS.maxStreamWindow / 2, `${window(id)} bytes of stream ${i}`);
    if (i % 3 === 0) pair.client.connection.finish(id);
    if (i % 3 === 1) pair.client.connection.reset(id, 1);
    if (i % 3 === 2) pair.server.connection.stopSending(id, 1);
    pair.advance(100);
    pair.server.read(id);
  }
});

test('all windows together grow by no more than their memory', () => {
  const { pair, greedy, read, window } = world();
  const ids = Array.from({ length: 20 }, () => greedy(400_000));
  pair.server.onEvent = (event) => event.kind === 'stream-readable' && read(event.id);
  pair.run(() => ids.every((id) => read(id) === 400_000), 600_000);
  const growth = ids.reduce((sum, id) => sum + window(id) - GRANTS.streamWindow, 0);
  assert.ok(growth <= GRANTS.windowGrowth, `${growth} bytes`);
  assert.ok(growth > GRANTS.windowGrowth / 4, `${growth} bytes`);
});

test('what was credited for streams that are not read is not credited twice', () => {
  const it = world({ maxConnectionWindow: GRANTS.connectionWindow });
  const ids = Array.from({ length: 80 }, () => it.greedy(4000));
  it.pair.advance(1000);
  for (const id of ids) it.read(id);
  it.pair.advance(1000);
  assert.ok(it.window() <= GRANTS.connectionWindow, `${it.window()} bytes beyond what was read`);
});

test('a gap that is filled makes a window readable at once, and does not keep it from growing', () => {
  const it = world({}, 25);
  const { pair, greedy, read, window } = it;
  const id = greedy(6_000_000);
  let last = 0;
  // In each round trip the first packet arrives last.
  pair.lateness = () => (pair.now > last + 40 ? ((last = pair.now), 20) : 0);
  pair.server.onEvent = (event) => event.kind === 'stream-readable' && read(event.id);
  pair.run(() => read(id) === 6_000_000, 600_000);
  pair.advance(100);
  assert.ok(window(id) > GRANTS.maxStreamWindow / 2, `${window(id)} bytes`);
});

test('1 % loss: the windows grow until they do not limit the path', () => {
  const { pair, greedy, read } = world({}, 25);
  pair.passes = () => !pair.random.chance(0.01);
  const id = greedy(3_000_000);
  pair.server.onEvent = (event) => event.kind === 'stream-readable' && read(event.id);
  pair.run(() => read(id) > 1_000_000, 600_000);
  const before = pair.tap.text('client', ['streamDataBlocked', 'dataBlocked']).length;
  pair.run(() => read(id) === 3_000_000, 600_000);
  const blocked = pair.tap.text('client', ['streamDataBlocked', 'dataBlocked']).length - before;
  assert.ok(blocked <= 8, `blocked ${blocked} times`);
});
