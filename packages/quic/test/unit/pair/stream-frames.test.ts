import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_FRAMES_PER_PACKET,
  SEND_HIGH_WATER,
  SEND_LEAST,
  SEND_LOW_WATER,
  SEND_SHARED,
  STREAM_TURN,
  STREAMS_AHEAD,
} from '../../../src/limits.ts';
import { DEFAULT_STREAM_GRANTS, type StreamGrants } from '../../../src/streams/grants.ts';
import { frame, Hostile } from '../../../../../test/support/quic/hostile.ts';
import { Pair } from '../../../../../test/support/quic/pair.ts';

const WIDE = 8 << 20;

/** A pair over a path without delay, whose server grants this, and whose peers do not read by themselves. */
function granted(grants: Partial<StreamGrants> = {}): Pair {
  const server = { grants: { ...DEFAULT_STREAM_GRANTS, ...grants } };
  const pair = new Pair({ watch: 'judged', server }).connect();
  pair.advance(2000);
  pair.server.reads = false;
  return pair;
}

const open = (pair: Pair, bidirectional = false): number => {
  const id = pair.client.connection.openStream(bidirectional);
  assert.ok(id !== undefined);
  return id;
};

/** Streams of the peer's frames, without repetitions behind each other. */
const turns = (pair: Pair): number[] =>
  pair.tap
    .text('client', ['stream'])
    .map((line) => Number(line.split(' ')[1]))
    .filter((id, i, all) => id !== all[i - 1]);

test('ids say who opened a stream and whether both sides send (RFC 9000 §2.1)', () => {
  const { client, server } = granted();
  const opened = [client, server].map(({ connection }) =>
    [true, false, true, false].map((two) => connection.openStream(two)),
  );
  assert.deepEqual(opened, [
    [0, 2, 4, 6],
    [1, 3, 5, 7],
  ]);
});

test('a frame opens its stream and all of its kind below it (RFC 9000 §3.2)', () => {
  for (const [id, type, ...rest] of [
    [8, 0x0a, 0],
    [8, 0x11, 1],
    [8, 0x05, 1],
    [8, 0x15, 1],
    [10, 0x04, 1, 0],
  ] as const) {
    const hostile = new Hostile();
    hostile.send(frame(type, [id, ...rest]));
    const opened = hostile.victim.events.flatMap((e) => (e.kind === 'stream-opened' ? [e.id] : []));
    assert.deepEqual(opened, [id - 8, id - 4, id]);
  }
});

test('an end or a reset leaves alone when the limits allow no more data (RFC 9000 §3.1)', () => {
  const pair = granted({ streamWindow: 4, maxStreamWindow: 4 });
  const [ended, reset] = [open(pair), open(pair)];
  for (const id of [ended, reset]) pair.client.connection.write(id, Buffer.from('data'));
  pair.advance(100);
  pair.client.connection.finish(ended);
  pair.client.connection.reset(reset, 7);
  pair.advance(100);
  const text = pair.tap.text('client', ['stream', 'resetStream']);
  assert.deepEqual(text.slice(-2).sort(), [`resetStream ${reset} 7 4`, `stream ${ended} 4 0 true`]);
});

test('a side says that a limit blocks it, once for each (RFC 9000 §4.1)', () => {
  const pair = granted({ streamWindow: 1000, maxStreamWindow: 1000, unidirectionalStreams: 1 });
  const id = open(pair);
  assert.equal(pair.client.connection.openStream(false), undefined);
  pair.client.connection.write(id, Buffer.alloc(1500));
  pair.advance(1000);
  const blocked = (): string[] =>
    pair.tap.text('client', ['dataBlocked', 'streamDataBlocked', 'streamsBlocked']).sort();
  const first = [`streamDataBlocked ${id} 1000`, 'streamsBlocked false 1'];
  assert.deepEqual(blocked(), first);
  pair.server.read(id);
  pair.advance(1000);
  assert.equal(pair.tap.text('server', ['maxStreamData']).at(-1), `maxStreamData ${id} 2000`);
  pair.client.connection.write(id, Buffer.alloc(1500));
  pair.advance(1000);
  assert.deepEqual(blocked(), [first[0], `streamDataBlocked ${id} 2000`, first[1]]);
});

test('what says that a limit blocks is sent again when it was lost, while it holds (RFC 9000 §13.3)', () => {
  const pair = granted({ streamWindow: 1000, maxStreamWindow: 1000, unidirectionalStreams: 1 });
  const id = open(pair);
  pair.client.connection.write(id, Buffer.alloc(1500));
  pair.advance(100);
  pair.client.connection.openStream(false);
  pair.client.connection.write(id, Buffer.alloc(1));
  pair.drop();
  pair.advance(2000);
  const blocked = pair.tap.text('client', ['streamsBlocked']);
  assert.ok(blocked.length >= 2 && new Set(blocked).size === 1, String(blocked));
});

test('a peer that is blocked gets what there is, however little (RFC 9000 §4.1)', () => {
  const hostile = new Hostile('client');
  hostile.send(frame(0x0e, [0, 0, 10], [...Buffer.alloc(10)]));
  hostile.take();
  const { streamWindow } = DEFAULT_STREAM_GRANTS;
  hostile.send(frame(0x15, [0, streamWindow]));
  hostile.send(frame(0x14, [DEFAULT_STREAM_GRANTS.connectionWindow]));
  assert.deepEqual(hostile.take('maxStreamData', 'maxData').sort(), [
    `maxData ${DEFAULT_STREAM_GRANTS.connectionWindow + 10}`,
    `maxStreamData 0 ${streamWindow + 10}`,
  ]);
  hostile.send(frame(0x15, [0, streamWindow + 10]));
  assert.deepEqual(hostile.take('maxStreamData'), [], 'there is no more');
});

test('MAX_STREAMS comes for every quarter, and for each stream when few are left (RFC 9000 §4.6)', () => {
  const pair = granted({ unidirectionalStreams: 100 });
  pair.server.reads = true;
  const limits = (): string[] => pair.tap.text('server', ['maxStreams']);
  const finish = (id: number): void => {
    pair.client.connection.finish(id);
    pair.advance(100);
  };
  const ids = Array.from({ length: 50 }, () => open(pair));
  pair.client.connection.write(ids.at(-1) ?? -1, Buffer.alloc(1));
  finish(ids[0] ?? -1);
  finish(ids[1] ?? -1);
  assert.deepEqual(limits(), [], 'two in a hundred are not worth a frame');
  for (let i = 50; i < 100; i++) ids.push(open(pair));
  pair.client.connection.write(ids.at(-1) ?? -1, Buffer.alloc(1));
  pair.advance(100);
  assert.deepEqual(limits(), ['maxStreams false 102']);
  finish(ids[2] ?? -1);
  assert.deepEqual(limits(), ['maxStreams false 102', 'maxStreams false 103']);
});

test('a peer that may have more streams gets them step by step, as it opens them', () => {
  const hostile = new Hostile();
  const { connection } = hostile.victim;
  connection.allowStreams(4096);
  hostile.pair.flush();
  let limit = 0;
  for (let rounds = 0; limit < 4096; rounds++) {
    assert.ok(rounds < 20);
    const next = Number(hostile.take('maxStreams').at(-1)?.split(' ')[2]);
    assert.ok(next <= limit + STREAMS_AHEAD && next > limit, `${next} after ${limit}`);
    limit = next;
    hostile.send(frame(0x0a, [4 * (limit - 1), 0]));
  }
  // A limit that falls takes nothing back.
  connection.allowStreams(2);
  hostile.send(frame(0x16, [4096]));
  assert.deepEqual(hostile.take('maxStreams').slice(-1), []);
  hostile.send(frame(0x0a, [4 * 4095, 0]));
  assert.equal(hostile.code, undefined);
});

for (const end of ['read', 'stopped'] as const) {
  test(`what came in order before a reset is left to its reader, until it is ${end} (RFC 9000 §3.2)`, () => {
    const hostile = new Hostile();
    const { connection, events } = hostile.victim;
    hostile.victim.reads = false;
    hostile.send(frame(0x0e, [2, 0, 3], [1, 2, 3]));
    hostile.send(frame(0x0e, [2, 5, 1], [6]));
    hostile.send(frame(0x04, [2, 7, 6]));
    const isClosed = (): boolean => events.some(({ kind }) => kind === 'stream-closed');
    assert.ok(events.some(({ kind }) => kind === 'stream-reset') && !isClosed());
    if (end === 'read') {
      hostile.victim.read(2);
      assert.deepEqual(hostile.victim.received(2), Buffer.of(1, 2, 3));
    } else connection.stopSending(2, 0);
    assert.equal(connection.read(2), undefined, 'what came after a gap is dropped');
    hostile.pair.flush();
    assert.ok(isClosed());
    assert.deepEqual(hostile.take('stopSending'), [], 'its end is known');
  });
}

test('a lost STOP_SENDING is sent again until the final size is known (RFC 9000 §3.5)', () => {
  for (const isEnded of [false, true]) {
    const hostile = new Hostile();
    hostile.send(frame(0x0e, [0, 0, 3], [1, 2, 3]));
    hostile.victim.connection.stopSending(0, 9);
    hostile.pair.flush();
    assert.deepEqual(hostile.take('stopSending'), ['stopSending 0 9']);
    if (isEnded) hostile.send(frame(0x0f, [0, 3, 1], [4]));
    for (let i = 0; i < 8; i++) hostile.send(frame(0x01));
    const newest = hostile.pair.tap.packets.findLast(({ from }) => from === 'server')?.number ?? -1;
    hostile.send(frame(0x02, [newest, 0, 0, 0]));
    hostile.pair.advance(100);
    assert.equal(hostile.take('stopSending').length > 0, !isEnded);
  }
});

test('a reset after all data has come does not take it away (RFC 9000 §3.2)', () => {
  const hostile = new Hostile();
  const { events } = hostile.victim;
  hostile.victim.reads = false;
  hostile.send(frame(0x0f, [2, 0, 3], [1, 2, 3]));
  hostile.send(frame(0x04, [2, 7, 3]));
  assert.ok(!events.some(({ kind }) => kind === 'stream-reset'));
  hostile.victim.read(2);
  assert.deepEqual(hostile.victim.received(2), Buffer.of(1, 2, 3));
  assert.equal(hostile.victim.streams.get(2)?.end, 'finished');
});

test('the memory of a chunk that was given is freed when it is acknowledged, or reset', () => {
  const pair = granted({ streamWindow: 20_000 });
  const { connection } = pair.client;
  const [id, other] = [open(pair), open(pair)];
  const given = Buffer.alloc(10_000, 1);
  const kept = Buffer.alloc(10_000, 2);
  const dropped = Buffer.alloc(10_000, 3);
  connection.write(id, given, true);
  connection.write(id, kept);
  connection.write(other, dropped, true);
  connection.reset(other, 0);
  assert.deepEqual([given.length, dropped.length], [10_000, 0]);
  assert.equal(connection.undelivered(id), 20_000);
  pair.delay = 10;
  pair.drop();
  pair.advance(20);
  assert.equal(given.length, 10_000, 'its first bytes have to be sent again');
  pair.advance(1000);
  assert.deepEqual([given.length, kept.length], [0, 10_000]);
  assert.equal(connection.undelivered(id), 0);
});

test('streams with data take turns of some packets each', () => {
  const pair = granted({ streamWindow: 4 * STREAM_TURN });
  const ids = [0, 1, 2, 3].map(() => open(pair));
  for (const id of ids) pair.client.connection.write(id, Buffer.alloc(3 * STREAM_TURN));
  pair.advance(5000);
  assert.deepEqual(turns(pair).slice(-12), [...ids, ...ids, ...ids]);
});

test('a stream with little to send waits for no turn, and keeps no other from its own', () => {
  const pair = granted({ connectionWindow: WIDE, streamWindow: 1 << 20 });
  const { connection } = pair.client;
  const bulky = open(pair);
  const eager = [open(pair), open(pair)];
  connection.write(bulky, Buffer.alloc(16 * STREAM_TURN));
  for (let i = 0; i < 400 && connection.queued(bulky) > 0; i++) {
    for (const id of eager)
      if (connection.queued(id) === 0) connection.write(id, Buffer.alloc(500));
    pair.advance(1);
    for (const id of eager) assert.equal(connection.queued(id), 0);
  }
  assert.equal(connection.queued(bulky), 0);
});

test('small streams share a packet, up to as many frames as are noted', () => {
  const pair = granted({ unidirectionalStreams: 400 });
  const { packets } = pair.tap;
  const before = packets.length;
  for (let i = 0; i < 10; i++) pair.client.connection.write(open(pair), Buffer.alloc(50));
  pair.flush();
  assert.equal(packets.at(-1)?.frames.length, 10);
  for (let i = 0; i < 390; i++) pair.client.connection.finish(open(pair));
  pair.advance(1000);
  const counts = packets.slice(before).map(({ frames }) => frames.length);
  assert.equal(Math.max(...counts), MAX_FRAMES_PER_PACKET);
});

test('a writer is asked to wait at the high-water mark and resumes at the low one, once', () => {
  // As much as the peer allows is queued: a window that has grown.
  const pair = granted({ connectionWindow: WIDE, streamWindow: 2 * SEND_HIGH_WATER });
  const { connection } = pair.client;
  const id = open(pair);
  const piece = Buffer.alloc(SEND_HIGH_WATER / 4);
  const writable: number[] = [];
  pair.client.onEvent = ({ kind }) => {
    if (kind === 'stream-writable') writable.push(connection.queued(id));
  };
  assert.deepEqual(
    [0, 1, 2, 3, 4].map(() => connection.write(id, piece)),
    [true, true, true, false, false],
  );
  pair.run(() => connection.queued(id) === 0);
  assert.equal(writable.length, 1);
  assert.ok((writable[0] ?? Infinity) <= SEND_LOW_WATER);
});

test('what streams queue is bounded by what their peer takes, and for all of them together', () => {
  const grants = { unidirectionalStreams: 200, streamWindow: WIDE, connectionWindow: 100_000 };
  const pair = granted(grants);
  const { connection } = pair.client;
  const chunk = Buffer.alloc(64 * 1024);
  const ids = Array.from({ length: 200 }, () => open(pair));
  for (const id of ids) while (connection.write(id, chunk) === true) continue;
  const queued = (): number => ids.reduce((sum, id) => sum + connection.queued(id), 0);
  assert.ok(queued() <= SEND_SHARED + SEND_HIGH_WATER + ids.length * (chunk.length + SEND_LEAST));
  // A stream that is not read holds one chunk.
  const narrow = granted();
  const stuck = open(narrow);
  for (let turn = 0; turn < 20; turn++) {
    while (narrow.client.connection.write(stuck, chunk) === true) continue;
    narrow.advance(100);
    if (narrow.client.connection.queued(stuck) > chunk.length) break;
  }
  assert.ok(narrow.client.connection.queued(stuck) <= 2 * chunk.length + SEND_LEAST);
});

test('frames and calls for a stream that is over do nothing', () => {
  const hostile = new Hostile();
  const { connection, events } = hostile.victim;
  hostile.send(Buffer.concat([frame(0x0b, [0, 1], [1]), frame(0x05, [0, 9])]));
  hostile.pair.advance(30);
  const newest = hostile.pair.tap.packets.findLast(({ from }) => from === 'server')?.number ?? -1;
  hostile.send(frame(0x02, [newest, 0, 0, 3]));
  assert.ok(events.some(({ kind }) => kind === 'stream-closed'));
  const { length } = events;
  for (const bytes of [
    frame(0x0b, [0, 1], [1]),
    frame(0x04, [0, 0, 1]),
    frame(0x05, [0, 0]),
    frame(0x11, [0, 9]),
    frame(0x15, [0, 9]),
  ]) {
    hostile.send(bytes);
  }
  connection.finish(0);
  connection.reset(0, 0);
  connection.stopSending(0, 0);
  assert.deepEqual(
    [connection.write(0, Buffer.alloc(1)), connection.read(0), connection.queued(0)],
    [undefined, undefined, 0],
  );
  assert.equal(events.length, length);
  assert.equal(hostile.code, undefined);
});
