import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEND_HIGH_WATER, SEND_LOW_WATER } from '../../../../src/quic/streams/limits.ts';
import { Pair } from './pair.ts';

const COUNT = 10_000;

test('streams with data take turns, a packet each', () => {
  const pair = new Pair();
  const { client, server } = pair;
  const ids = [0, 1, 2, 3].map(() => client.streams.open(false) ?? -1);
  for (const id of ids) client.streams.write(id, Buffer.alloc(20_000));
  for (let i = 0; i < 8; i++) pair.deliver(client);
  assert.deepEqual(
    server.received.map((line) => line.split(' ')[1]),
    ['2', '6', '10', '14', '2', '6', '10', '14'],
  );
});

test('a stream with little to send waits for one packet of each of the others at most', () => {
  const pair = new Pair();
  const { client, server } = pair;
  const bulky = [0, 1, 2].map(() => client.streams.open(false) ?? -1);
  for (const id of bulky) client.streams.write(id, Buffer.alloc(200_000));
  for (let i = 0; i < 10; i++) pair.deliver(client);
  const small = client.streams.open(false) ?? -1;
  client.streams.write(small, Buffer.from('x'));
  for (let i = 0; i < 4; i++) pair.deliver(client);
  assert.ok(server.received.includes(`STREAM ${small} 0 1`));
});

test('small streams share a packet', () => {
  const pair = new Pair();
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
  const { client } = new Pair();
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, Buffer.alloc(1000));
  const out = new Uint8Array(1200);
  assert.equal(client.streams.writeFrames(out, 1170, 1200, client.log), 1170);
  assert.equal(client.streams.queued(id), 1000);
});

test('nothing is written where there is no room', () => {
  const pair = new Pair({ streamWindow: 100, connectionWindow: 100 });
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
  const pair = new Pair({ unidirectionalStreams: 400 });
  const { client, server } = pair;
  for (let i = 0; i < 400; i++) client.streams.finish(client.streams.open(false) ?? -1);
  assert.ok(pair.deliver(client));
  assert.equal(server.received.length, 256);
  pair.run();
  assert.equal(server.received.length, 400);
});

test('a writer is asked to wait at the high-water mark and resumes at the low one', () => {
  const pair = new Pair();
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

test('ten thousand open streams cost nothing while they have nothing to send', () => {
  const pair = new Pair({ bidirectionalStreams: COUNT });
  const { client, server } = pair;
  const ids = Array.from({ length: COUNT }, () => client.streams.open(true) ?? -1);
  for (const id of ids) client.streams.write(id, Buffer.from('x'));
  pair.run();
  for (const id of ids) assert.equal(server.read(id).data.length, 1);
  pair.run();
  // Looking at every stream would show as a read of its parts; `hasData` looks at the queues' heads.
  assert.ok(!client.streams.hasFrames && !server.streams.hasFrames);
  const busy = ids.at(-1) ?? -1;
  client.streams.write(busy, Buffer.alloc(100_000));
  server.received.length = 0;
  pair.run();
  assert.ok(server.received.every((line) => line.startsWith(`STREAM ${busy} `)));
  assert.equal(client.streams.size, COUNT);
});

test('streams that come and go leave nothing behind', () => {
  const pair = new Pair({ bidirectionalStreams: 8 });
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
