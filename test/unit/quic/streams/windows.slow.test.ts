import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  INITIAL_CONNECTION_WINDOW,
  INITIAL_STREAM_WINDOW,
  MAX_CONNECTION_WINDOW,
  MAX_STREAM_WINDOW,
  MAX_UNREAD,
  MAX_WINDOW_GROWTH,
  PROVEN_STREAM_WINDOW,
  UNAUTHENTICATED_WINDOW,
} from '../../../../src/quic/streams/limits.ts';
import { END_OF_STREAM } from '../../../../src/quic/streams/streams.ts';
import { type End, StreamsPair } from '../../../support/quic/streams-pair.ts';

const CHUNK = Buffer.alloc(65_536, 'x');

/** Opens a stream that always has more to send than it may. */
function openGreedy(end: End, bytes: number): number {
  const id = end.streams.open(false) ?? -1;
  for (let i = 0; i < bytes; i += CHUNK.length) end.streams.write(id, CHUNK);
  return id;
}

/** The limit that came last, of the frames that start like this. */
const lastLimit = (end: End, frame: string): number =>
  Number(
    end.received
      .findLast((line) => line.startsWith(frame))
      ?.split(' ')
      .at(-1) ?? 0,
  );

test('§4.1: a stream that is not read gets its first window and no more', () => {
  const pair = new StreamsPair();
  const id = openGreedy(pair.client, 4 * INITIAL_STREAM_WINDOW);
  pair.run();
  assert.equal(pair.server.streams.unread, INITIAL_STREAM_WINDOW);
  assert.equal(lastLimit(pair.client, `MAX_STREAM_DATA ${id}`), 0);
});

test('the windows grow to their maximum while the reader keeps up', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = openGreedy(client, 64 * 1024 * 1024);
  let unreadMost = 0;
  for (let moved = true; moved;) {
    moved = pair.deliver(client);
    unreadMost = Math.max(unreadMost, server.streams.unread);
    server.read(id);
    moved = pair.deliver(server) || moved;
  }
  assert.equal(client.streams.queued(id), 0);
  const total = 64 * 1024 * 1024;
  const limit = lastLimit(client, `MAX_STREAM_DATA ${id}`);
  assert.ok(limit - total > MAX_STREAM_WINDOW / 2 && limit - total <= MAX_STREAM_WINDOW);
  const all = lastLimit(client, 'MAX_DATA');
  assert.ok(all - total > MAX_CONNECTION_WINDOW / 2 && all - total <= MAX_CONNECTION_WINDOW);
  assert.ok(unreadMost <= 1200, 'a window that is large and empty takes no memory');
});

test('a window grows to what lasts for a few round trips, and no more', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  // 10 MB/s and 100 ms: the path holds 1 MB.
  const id = openGreedy(client, 64 * 1024 * 1024);
  let now = 0;
  for (let moved = true; moved; now += 0.12) {
    server.streams.setPace(now, 100);
    moved = pair.deliver(client);
    server.read(id);
    moved = pair.deliver(server) || moved;
  }
  const window = lastLimit(client, `MAX_STREAM_DATA ${id}`) - 64 * 1024 * 1024;
  assert.ok(window >= 2_000_000 && window <= 4 * 1024 * 1024, `${window} bytes`);
  const slow = openGreedy(client, 16 * 1024 * 1024);
  pair.run();
  assert.equal(server.streams.unread, INITIAL_STREAM_WINDOW);
  assert.ok(client.streams.queued(slow) > 0);
});

test('the window of a slow reader does not grow', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = openGreedy(client, 8 * 1024 * 1024);
  pair.run();
  for (;;) {
    const chunk = server.streams.read(id);
    if (chunk === undefined || chunk === END_OF_STREAM) break;
    pair.run(); // the sender fills the window again at once
    assert.ok(server.streams.unread <= PROVEN_STREAM_WINDOW);
  }
  assert.equal(client.streams.queued(id), 0);
});

test('a slow reader stops its own sender and no other', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const slow = openGreedy(client, 4 * 1024 * 1024);
  const quick = openGreedy(client, 16 * 1024 * 1024);
  let received = 0;
  for (let moved = true; moved;) {
    moved = pair.deliver(client);
    received += server.read(quick).data.length;
    moved = pair.deliver(server) || moved;
  }
  assert.equal(received, 16 * 1024 * 1024);
  assert.ok(client.streams.queued(slow) > 0);
  assert.equal(server.streams.unread, INITIAL_STREAM_WINDOW);
});

/** Reads one stream as fast as it comes, until nothing moves. Returns its bytes. */
function readAll({ client, server }: StreamsPair, from: End, id: number): number {
  const to = from === client ? server : client;
  let received = 0;
  for (let moved = true; moved;) {
    moved = deliverOf(from, to);
    received += to.read(id).data.length;
    moved = deliverOf(to, from) || moved;
  }
  return received;
}

function deliverOf(from: End, to: End): boolean {
  const packet = from.packet();
  if (!packet) return false;
  assert.equal(to.receive(packet), undefined);
  from.settle('acknowledged', packet);
  return true;
}

const MANY = { bidirectionalStreams: 4096, unidirectionalStreams: 4096 };

for (const count of [8, 100, 1000]) {
  test(`${count} uploads whose destinations do not read leave another one its rate`, () => {
    const pair = new StreamsPair(MANY);
    const { client, server } = pair;
    for (let i = 0; i < count; i++) {
      const id = client.streams.open(true) ?? -1;
      client.streams.write(id, CHUNK);
    }
    pair.run();
    assert.equal(server.streams.unread, count * INITIAL_STREAM_WINDOW);
    const quick = client.streams.open(true) ?? -1;
    const total = 16 * 1024 * 1024;
    for (let i = 0; i < total; i += CHUNK.length) client.streams.write(quick, CHUNK);
    assert.equal(readAll(pair, client, quick), total);
    const window = lastLimit(client, `MAX_STREAM_DATA ${quick}`) - total;
    assert.ok(window >= MAX_STREAM_WINDOW / 2, `${window} bytes`);
  });

  test(`${count} downloads that are not read leave another one its rate`, () => {
    const pair = new StreamsPair(MANY);
    const { client, server } = pair;
    for (let i = 0; i < count; i++) {
      const id = client.streams.open(true) ?? -1;
      client.streams.write(id, Buffer.from('get'));
      pair.run();
      server.read(id);
      server.streams.write(id, CHUNK);
    }
    pair.run();
    assert.equal(client.streams.unread, count * INITIAL_STREAM_WINDOW);
    const quick = client.streams.open(true) ?? -1;
    client.streams.write(quick, Buffer.from('get'));
    pair.run();
    const total = 16 * 1024 * 1024;
    for (let i = 0; i < total; i += CHUNK.length) server.streams.write(quick, CHUNK);
    assert.equal(readAll(pair, server, quick), total);
    const window = lastLimit(server, `MAX_STREAM_DATA ${quick}`) - total;
    assert.ok(window >= MAX_STREAM_WINDOW / 2, `${window} bytes`);
  });
}

for (const { count, least } of [
  { count: 20, least: 4 * INITIAL_STREAM_WINDOW },
  { count: 500, least: INITIAL_STREAM_WINDOW },
]) {
  test(`${count} streams whose readers stop after they have read do not stop another one`, () => {
    const pair = new StreamsPair(MANY);
    const { client, server } = pair;
    for (let i = 0; i < count; i++) {
      const id = openGreedy(client, 1 << 20);
      // It reads half a megabyte, and then no more.
      for (let read = 0; read < 1 << 19; read += server.read(id).data.length) {
        pair.deliver(client);
        while (pair.deliver(server));
      }
    }
    pair.run();
    assert.ok(server.streams.unread <= MAX_UNREAD);
    assert.ok(server.streams.unread >= 2 * count * INITIAL_STREAM_WINDOW - MAX_WINDOW_GROWTH);
    const quick = openGreedy(client, 16 << 20);
    assert.equal(readAll(pair, client, quick), 16 << 20);
    // The limit may be behind by the quarter for which no frame is sent.
    const window = lastLimit(client, `MAX_STREAM_DATA ${quick}`) - (16 << 20);
    assert.ok(window > least / 2, `${window} bytes`);
  });
}

test('what streams hold that are not read is bounded for all of them together', () => {
  const pair = new StreamsPair(MANY);
  const { client, server } = pair;
  const most = MAX_UNREAD / INITIAL_STREAM_WINDOW + 100;
  const ids = Array.from({ length: most }, () => client.streams.open(true) ?? -1);
  for (const id of ids) client.streams.write(id, CHUNK);
  pair.run();
  assert.ok(server.streams.unread <= MAX_UNREAD);
  assert.ok(server.streams.unread > MAX_UNREAD - INITIAL_CONNECTION_WINDOW / 4);
  // They go on as soon as a little of one of them is read.
  const queued = (): number => ids.reduce((sum, id) => sum + client.streams.queued(id), 0);
  const before = queued();
  const chunk = server.streams.read(ids[0] ?? -1);
  assert.ok(chunk instanceof Uint8Array && chunk.length < 4096);
  pair.run();
  assert.equal(queued(), before - chunk.length);
});

test('windows that have grown give their memory back when their streams end', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  for (let i = 0; i < 50; i++) {
    const id = client.streams.open(false) ?? -1;
    for (let bytes = 0; bytes < 4 << 20; bytes += CHUNK.length) client.streams.write(id, CHUNK);
    if (i % 3 === 0) client.streams.finish(id);
    readAll(pair, client, id);
    if (i % 3 === 1) client.streams.reset(id, 1);
    if (i % 3 === 2) server.streams.stopSending(id, 1);
    pair.run();
    server.events();
    assert.ok(server.streams.windowGrowth <= 0, `${server.streams.windowGrowth} bytes`);
  }
});

test('all windows together grow by no more than their memory', () => {
  const pair = new StreamsPair(MANY);
  const { client, server } = pair;
  const ids = Array.from({ length: 60 }, () => client.streams.open(true) ?? -1);
  for (const id of ids) {
    for (let bytes = 0; bytes < 4 << 20; bytes += CHUNK.length) client.streams.write(id, CHUNK);
  }
  for (let moved = true; moved;) {
    moved = pair.deliver(client);
    for (const id of ids) server.read(id);
    moved = pair.deliver(server) || moved;
    assert.ok(server.streams.windowGrowth <= MAX_WINDOW_GROWTH);
  }
  assert.ok(server.streams.windowGrowth > MAX_WINDOW_GROWTH / 2);
  for (const id of ids) assert.equal(client.streams.queued(id), 0);
});

test('what was credited for streams that are not read is not credited twice', () => {
  const pair = new StreamsPair({ ...MANY, maxConnectionWindow: INITIAL_CONNECTION_WINDOW });
  const { client, server } = pair;
  const ids = Array.from({ length: 80 }, () => openGreedy(client, CHUNK.length));
  pair.run();
  for (const id of ids) {
    for (let moved = true; moved;) {
      server.read(id);
      moved = pair.deliver(server);
      moved = pair.deliver(client) || moved;
    }
  }
  assert.equal(server.streams.unread, 0);
  const granted = lastLimit(client, 'MAX_DATA') - 80 * CHUNK.length;
  assert.ok(granted <= INITIAL_CONNECTION_WINDOW, `${granted} bytes beyond what was read`);
});

test('a peer that has not authenticated gets a small window, which no stream exceeds', () => {
  const pair = new StreamsPair(MANY, {}, false);
  const { client, server } = pair;
  for (let i = 0; i < 12; i++) {
    const id = client.streams.open(true) ?? -1;
    client.streams.write(id, CHUNK);
  }
  pair.run();
  assert.equal(server.streams.unread, UNAUTHENTICATED_WINDOW);
  // Not by reading either.
  const busy = 0;
  for (let i = 0; i < 200; i++) client.streams.write(busy, CHUNK);
  for (let moved = true; moved;) {
    moved = pair.deliver(client);
    server.read(busy);
    moved = pair.deliver(server) || moved;
    assert.ok(server.streams.unread <= UNAUTHENTICATED_WINDOW);
  }
  server.streams.onAuthenticated();
  pair.run();
  assert.ok(server.streams.unread > UNAUTHENTICATED_WINDOW, 'all of them go on');
  assert.ok(readAll(pair, client, busy) > PROVEN_STREAM_WINDOW);
});
