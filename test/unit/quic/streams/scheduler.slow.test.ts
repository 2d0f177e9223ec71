import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  SEND_HIGH_WATER,
  SEND_LEAST,
  SEND_LOW_WATER,
  SEND_SHARED,
  STREAM_TURN,
} from '../../../../src/quic/streams/limits.ts';
import { StreamsPair } from '../../../support/quic/streams-pair.ts';

const COUNT = 10_000;

/** The streams of the STREAM frames that have come, without repetitions behind each other. */
const turns = (received: readonly string[]): string[] =>
  received
    .filter((line) => line.startsWith('STREAM'))
    .map((line) => line.split(' ')[1] ?? '')
    .filter((id, i, all) => id !== all[i - 1]);

test('streams with data take turns of some packets each', () => {
  const pair = new StreamsPair({ streamWindow: 4 * STREAM_TURN });
  const { client, server } = pair;
  const ids = [0, 1, 2, 3].map(() => client.streams.open(false) ?? -1);
  for (const id of ids) client.streams.write(id, Buffer.alloc(3 * STREAM_TURN));
  pair.run();
  const one = ['2', '6', '10', '14'];
  assert.deepEqual(turns(server.received), [...one, ...one, ...one]);
});

test('a stream that drains in each of its turns does not keep the others from theirs', () => {
  const pair = new StreamsPair({ connectionWindow: 8 << 20, streamWindow: 1 << 20 });
  const { client, server } = pair;
  const bulky = client.streams.open(false) ?? -1;
  const eager = [0, 1].map(() => client.streams.open(false) ?? -1);
  client.streams.write(bulky, Buffer.alloc(16 * STREAM_TURN));
  for (let i = 0; i < 200; i++) {
    for (const id of eager)
      if (client.streams.queued(id) === 0) client.streams.write(id, Buffer.alloc(500));
    pair.deliver(client);
  }
  const bytesOf = (id: number): number =>
    server.received
      .filter((line) => line.startsWith(`STREAM ${id} `))
      .reduce((bytes, line) => bytes + Number(line.split(' ')[3]), 0);
  for (const id of eager) assert.ok(bytesOf(id) > 0);
  assert.ok(bytesOf(bulky) > 10 * STREAM_TURN, `${bytesOf(bulky)} bytes`);
});

test('a stream with little to send does not wait for the turns of the others', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const bulky = [0, 1, 2].map(() => client.streams.open(false) ?? -1);
  for (const id of bulky) client.streams.write(id, Buffer.alloc(200_000));
  for (let i = 0; i < 60; i++) pair.deliver(client);
  const small = client.streams.open(false) ?? -1;
  client.streams.write(small, Buffer.from('x'));
  pair.deliver(client);
  assert.ok(server.received.includes(`STREAM ${small} 0 1`));
});

test('small streams share a packet', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  for (let i = 0; i < 10; i++) {
    const id = client.streams.open(false) ?? -1;
    client.streams.write(id, Buffer.alloc(50));
    client.streams.finish(id);
  }
  pair.deliver(client);
  assert.equal(server.received.length, 10);
});

test('the rest of a packet is left free rather than filled with a few bytes', () => {
  const { client } = new StreamsPair();
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, Buffer.alloc(1000));
  const out = new Uint8Array(1200);
  assert.equal(client.streams.writeFrames(out, 1170, 1200, client.log), 1170);
  assert.equal(client.streams.queued(id), 1000);
});

test('nothing is written where there is no room', () => {
  const pair = new StreamsPair({ streamWindow: 100, connectionWindow: 100 });
  const { client } = pair;
  const id = client.streams.open(true) ?? -1;
  client.streams.write(id, Buffer.alloc(200));
  client.streams.stopSending(id, 70_000);
  client.streams.reset(client.streams.open(false) ?? -1, 70_000);
  const out = new Uint8Array(300);
  for (let room = 0; room < 6; room++) {
    const end = client.streams.writeFrames(out, 0, room, client.log);
    assert.ok(end <= room);
  }
  assert.ok(client.streams.hasFrames);
  pair.run();
  assert.ok(!client.streams.hasFrames);
});

test('a packet that takes no more notes takes no more frames', () => {
  const pair = new StreamsPair({ unidirectionalStreams: 400 });
  const { client, server } = pair;
  for (let i = 0; i < 400; i++) client.streams.finish(client.streams.open(false) ?? -1);
  assert.ok(pair.deliver(client));
  assert.equal(server.received.length, 256);
  pair.run();
  assert.equal(server.received.length, 400);
});

test('a writer is asked to wait at the high-water mark and resumes at the low one', () => {
  // As much as the peer allows is queued: a window that has grown.
  const pair = new StreamsPair({ streamWindow: 2 * SEND_HIGH_WATER });
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  const piece = Buffer.alloc(SEND_HIGH_WATER / 4);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map(() => client.streams.write(id, piece)),
    [true, true, true, false, false],
  );
  while (client.streams.queued(id) > SEND_LOW_WATER) {
    assert.deepEqual(client.happened(), []);
    pair.deliver(client);
    server.read(id);
    pair.deliver(server);
  }
  assert.deepEqual(client.happened(), ['stream-writable 2']);
  pair.run();
  assert.deepEqual(client.happened(), [], 'it is said once');
});

test('a stream that its peer does not read holds one chunk, and goes on when it is read', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  const chunk = Buffer.alloc(64 * 1024);
  // As a relay does: the next chunk when the writer may go on.
  let mayWrite = true;
  const relay = (): void => {
    while (mayWrite) mayWrite = client.streams.write(id, chunk) ?? false;
    for (const event of client.events()) mayWrite ||= event.kind === 'stream-writable';
  };
  for (let turn = 0; turn < 100; turn++) {
    relay();
    pair.run();
  }
  assert.ok(client.streams.queued(id) > 0 && !client.streams.hasFrames, 'its window is used up');
  assert.ok(client.streams.queued(id) <= chunk.length + SEND_LEAST);
  let read = 0;
  for (let turn = 0; turn < 100; turn++) {
    read += server.read(id).data.length;
    pair.run();
    relay();
  }
  assert.ok(read > 4 * SEND_HIGH_WATER, `${read} bytes were read`);
});

test('what many streams queue is bounded for all of them, and each goes on when it is sent', () => {
  const pair = new StreamsPair({ unidirectionalStreams: 200, streamWindow: 8 << 20 });
  const { client, server } = pair;
  const chunk = Buffer.alloc(64 * 1024);
  const ids = Array.from({ length: 200 }, () => client.streams.open(false) ?? -1);
  for (const id of ids) while (client.streams.write(id, chunk) === true) continue;
  const queued = ids.reduce((sum, id) => sum + client.streams.queued(id), 0);
  assert.ok(queued <= SEND_SHARED + SEND_HIGH_WATER + ids.length * (chunk.length + SEND_LEAST));
  const writable = new Set<number>();
  for (let turn = 0; turn < 1000 && writable.size < ids.length; turn++) {
    pair.run();
    for (const id of ids) server.read(id);
    for (const event of client.events()) {
      if (event.kind === 'stream-writable') writable.add(event.id);
    }
  }
  assert.equal(writable.size, ids.length);
});

test('ten thousand open streams cost nothing while they have nothing to send', () => {
  const pair = new StreamsPair({ bidirectionalStreams: COUNT });
  const { client, server } = pair;
  const ids = Array.from({ length: COUNT }, () => client.streams.open(true) ?? -1);
  for (const id of ids) client.streams.write(id, Buffer.from('x'));
  pair.run();
  for (const id of ids) assert.equal(server.read(id).data.length, 1);
  pair.run();
  // Looking at every stream would show as a read of its parts; `hasData` looks at the queues' heads.
  assert.ok(!client.streams.hasFrames && !server.streams.hasFrames);
  const busy = ids.at(-1) ?? -1;
  client.streams.write(busy, Buffer.alloc(30_000));
  server.received.length = 0;
  pair.run();
  assert.ok(server.received.every((line) => line.startsWith(`STREAM ${busy} `)));
  assert.equal(client.streams.size, COUNT);
});

test('streams that come and go leave nothing behind', () => {
  const pair = new StreamsPair({ bidirectionalStreams: 8 });
  const { client, server } = pair;
  for (let round = 0; round < 5000; round++) {
    const id = client.streams.open(true);
    assert.ok(id !== undefined, `stream ${round}`);
    client.streams.write(id, Buffer.from('request'));
    client.streams.finish(id);
    pair.run();
    server.events();
    assert.ok(server.read(id).ended);
    server.streams.write(id, Buffer.from('response'));
    server.streams.finish(id);
    pair.run();
    assert.ok(client.read(id).ended);
    client.events();
    server.events();
  }
  assert.deepEqual([client.streams.size, server.streams.size], [0, 0]);
});
