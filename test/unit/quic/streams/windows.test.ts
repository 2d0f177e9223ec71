import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CREDITED_WINDOWS,
  INITIAL_CONNECTION_WINDOW,
  INITIAL_STREAM_WINDOW,
  MAX_CONNECTION_WINDOW,
  MAX_STREAM_WINDOW,
} from '../../../../src/quic/streams/limits.ts';
import { END_OF_STREAM } from '../../../../src/quic/streams/streams.ts';
import { type End, Pair } from './pair.ts';

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
  const pair = new Pair();
  const id = openGreedy(pair.client, 4 * INITIAL_STREAM_WINDOW);
  pair.run();
  assert.equal(pair.server.streams.unread, INITIAL_STREAM_WINDOW);
  assert.equal(lastLimit(pair.client, `MAX_STREAM_DATA ${id}`), 0);
});

test('the windows grow to their maximum while the reader keeps up', () => {
  const pair = new Pair();
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
  const pair = new Pair();
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
  const pair = new Pair();
  const { client, server } = pair;
  const id = openGreedy(client, 8 * 1024 * 1024);
  pair.run();
  for (;;) {
    const chunk = server.streams.read(id);
    if (chunk === undefined || chunk === END_OF_STREAM) break;
    pair.run(); // the sender fills the window again at once
    assert.ok(server.streams.unread <= INITIAL_STREAM_WINDOW);
  }
  assert.equal(client.streams.queued(id), 0);
});

test('a slow reader stops its own sender and no other', () => {
  const pair = new Pair();
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

test('streams that are not read do not stop others, though they hold more than the window', () => {
  const pair = new Pair();
  const { client, server } = pair;
  // Eight streams hold 4 MiB; the window of the connection is 2 MiB.
  for (let i = 0; i < 8; i++) openGreedy(client, 2 * INITIAL_STREAM_WINDOW);
  pair.run();
  assert.equal(server.streams.unread, 8 * INITIAL_STREAM_WINDOW);
  assert.ok(server.streams.unread > INITIAL_CONNECTION_WINDOW);
  const quick = openGreedy(client, 16 * 1024 * 1024);
  let received = 0;
  for (let moved = true; moved;) {
    moved = pair.deliver(client);
    received += server.read(quick).data.length;
    moved = pair.deliver(server) || moved;
  }
  assert.equal(received, 16 * 1024 * 1024);
});

test('what streams hold that are not read is bounded for all of them together', () => {
  const pair = new Pair();
  const { client, server } = pair;
  for (let i = 0; i < 16; i++) openGreedy(client, 2 * INITIAL_STREAM_WINDOW);
  pair.run();
  const most = INITIAL_CONNECTION_WINDOW * (1 + CREDITED_WINDOWS);
  assert.ok(server.streams.unread <= most);
  assert.ok(server.streams.unread > most - INITIAL_CONNECTION_WINDOW / 4);
  // They go on as soon as a little of one of them is read.
  const ids = Array.from({ length: 16 }, (_, i) => 2 + 4 * i);
  const queued = (): number => ids.reduce((sum, id) => sum + client.streams.queued(id), 0);
  const before = queued();
  const chunk = server.streams.read(2);
  assert.ok(chunk instanceof Uint8Array && chunk.length < 4096);
  pair.run();
  assert.equal(queued(), before - chunk.length);
});

test('what was credited for streams that are not read is not credited twice', () => {
  const pair = new Pair({ maxConnectionWindow: INITIAL_CONNECTION_WINDOW });
  const { client, server } = pair;
  const ids = Array.from({ length: 8 }, () => openGreedy(client, 2 * INITIAL_STREAM_WINDOW));
  pair.run();
  for (const id of ids) {
    for (let moved = true; moved;) {
      server.read(id);
      moved = pair.deliver(server);
      moved = pair.deliver(client) || moved;
    }
  }
  assert.equal(server.streams.unread, 0);
  const total = 8 * 2 * INITIAL_STREAM_WINDOW;
  const granted = lastLimit(client, 'MAX_DATA') - total;
  assert.ok(granted <= INITIAL_CONNECTION_WINDOW, `${granted} bytes beyond what was read`);
});
