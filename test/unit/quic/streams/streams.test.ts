import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportErrorCode } from '../../../../src/quic/errors.ts';
import type { FrameError } from '../../../../src/quic/wire/frame-visitor.ts';
import { StreamsPair, type SentPacket } from '../../../support/quic/streams-pair.ts';

const text = (value: string): Buffer => Buffer.from(value);
const EMPTY = Buffer.alloc(0);

const codeOf = (verdict: FrameError): string | undefined =>
  Object.entries(TransportErrorCode).find(([, code]) => code === verdict?.code)?.[0];

/** The next packet, which there must be. */
function sent(packet: SentPacket | undefined): SentPacket {
  assert.ok(packet);
  return packet;
}

test('§2.1: ids say who opened a stream and whether both sides send', () => {
  const { client, server } = new StreamsPair();
  assert.deepEqual(
    [client.streams.open(true), client.streams.open(false), client.streams.open(true)],
    [0, 2, 4],
  );
  assert.deepEqual(
    [server.streams.open(true), server.streams.open(false), server.streams.open(false)],
    [1, 3, 7],
  );
});

test('§2.2: bytes arrive in order, with the end of the stream', () => {
  const pair = new StreamsPair();
  const id = pair.client.streams.open(true) ?? -1;
  pair.client.streams.write(id, text('hello, '));
  pair.client.streams.write(id, text('world'));
  pair.client.streams.finish(id);
  pair.run();
  assert.deepEqual(pair.server.received, ['STREAM_FIN 0 0 12']);
  assert.deepEqual(pair.server.happened(), ['stream-opened 0', 'stream-readable 0']);
  assert.deepEqual(pair.server.read(id), { data: text('hello, world'), ended: true });
});

test('§2.2: data after the peer was asked to wait for more makes the stream readable again', () => {
  const pair = new StreamsPair();
  const id = pair.client.streams.open(true) ?? -1;
  pair.client.streams.write(id, text('one'));
  pair.run();
  assert.deepEqual(pair.server.happened(), ['stream-opened 0', 'stream-readable 0']);
  pair.client.streams.write(id, text('two'));
  pair.run();
  assert.deepEqual(pair.server.happened(), [], 'the first has not been read yet');
  assert.equal(pair.server.read(id).data.toString(), 'onetwo');
  pair.client.streams.write(id, text('three'));
  pair.run();
  assert.deepEqual(pair.server.happened(), ['stream-readable 0']);
});

test('the memory of a chunk that was given is freed when all of it is acknowledged', () => {
  const { client } = new StreamsPair();
  const id = client.streams.open(true) ?? -1;
  const given = Buffer.alloc(10_000, 1);
  const written = Buffer.alloc(10_000, 2);
  client.streams.write(id, given, true);
  client.streams.write(id, written);
  const packets: SentPacket[] = [];
  for (let packet = client.packet(); packet; packet = client.packet()) packets.push(packet);
  const last = sent(packets.pop());
  for (const [i, packet] of packets.entries()) {
    if (i > 0) client.settle('acknowledged', packet);
  }
  assert.equal(given.length, 10_000, 'its first bytes may have to be sent again');
  client.settle('lost', sent(packets[0]));
  const again = sent(client.packet());
  assert.ok(again.bytes.includes(1));
  client.settle('acknowledged', again);
  client.settle('acknowledged', last);
  assert.equal(given.length, 0);
  assert.equal(written.length, 10_000);
});

test('the memory of a chunk that was given is freed when the stream is reset', () => {
  const { client } = new StreamsPair();
  const id = client.streams.open(true) ?? -1;
  const given = Buffer.alloc(10_000, 1);
  client.streams.write(id, given, true);
  client.streams.reset(id, 0);
  assert.equal(given.length, 0);
});

test('§3: a stream is forgotten when both directions have ended and are acknowledged', () => {
  const pair = new StreamsPair();
  const id = pair.client.streams.open(true) ?? -1;
  pair.client.streams.finish(id);
  pair.run();
  pair.server.read(id);
  pair.server.streams.write(id, text('response'));
  pair.server.streams.finish(id);
  pair.run();
  pair.server.happened();
  assert.equal(pair.server.streams.size, 0);
  assert.equal(pair.client.streams.size, 1, 'its response has not been read');
  pair.client.happened();
  assert.equal(pair.client.read(id).data.toString(), 'response');
  assert.deepEqual(pair.client.happened(), ['stream-closed 0']);
  assert.equal(pair.client.streams.size, 0);
});

test('§3.1: FIN alone is sent when the data has gone before', () => {
  const pair = new StreamsPair();
  const id = pair.client.streams.open(false) ?? -1;
  pair.client.streams.write(id, text('data'));
  pair.run();
  pair.client.streams.finish(id);
  pair.run();
  assert.deepEqual(pair.server.received, ['STREAM 2 0 4', 'STREAM_FIN 2 4 0']);
  assert.deepEqual(pair.client.happened(), ['stream-closed 2']);
});

test('§3.1: FIN alone is sent although the limits allow no more data', () => {
  const pair = new StreamsPair({
    connectionWindow: 4,
    maxConnectionWindow: 4,
    unread: 4,
    streamWindow: 4,
  });
  const id = pair.client.streams.open(false) ?? -1;
  pair.client.streams.write(id, text('data'));
  pair.run();
  pair.client.streams.finish(id);
  pair.run();
  assert.deepEqual(pair.server.received, ['STREAM 2 0 4', 'STREAM_FIN 2 4 0']);
});

test('§13.3: a FIN that was lost is sent again, alone when its data has arrived', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, text('data'));
  pair.deliver(client);
  client.streams.finish(id);
  client.settle('lost', sent(client.packet()));
  pair.run();
  assert.deepEqual(server.received, ['STREAM 2 0 4', 'STREAM_FIN 2 4 0']);
});

test('§13.3: lost data is sent before new data, and only what has not arrived', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, Buffer.alloc(300, 'a'));
  const first = sent(client.packet(104));
  const second = sent(client.packet(104));
  const third = sent(client.packet(104));
  server.receive(second);
  client.settle('acknowledged', second);
  client.settle('lost', first);
  client.settle('lost', third);
  client.streams.write(id, Buffer.alloc(100, 'b'));
  // The third packet arrives after all: it is not repeated.
  client.settle('acknowledged', third);
  server.receive(third);
  server.received.length = 0;
  pair.run();
  assert.equal(server.received[0], 'STREAM 2 0 100');
  assert.equal(server.received.length, 2);
  assert.equal(server.read(id).data.toString(), 'a'.repeat(300) + 'b'.repeat(100));
});

test('§13.3: what a probe repeats is not repeated once more when it is acknowledged', () => {
  const pair = new StreamsPair();
  const { client } = pair;
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, Buffer.alloc(50));
  const packet = sent(client.packet());
  client.settle('lost', packet);
  client.settle('lost', packet);
  const probe = sent(client.packet());
  client.settle('acknowledged', packet);
  client.settle('lost', probe);
  assert.equal(client.packet(), undefined);
});

test('§3.1: an acknowledgement that closes several gaps at once completes the stream', () => {
  const { client } = new StreamsPair();
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, Buffer.alloc(400));
  client.streams.finish(id);
  const packets = [0, 1, 2, 3].map(() => sent(client.packet(104)));
  for (const packet of packets.slice(0, 3)) client.settle('lost', packet);
  const repeated = sent(client.packet());
  client.settle('acknowledged', sent(packets[1]));
  client.settle('acknowledged', sent(packets[3]));
  client.settle('acknowledged', repeated);
  while (true) {
    const rest = client.packet();
    if (!rest) break;
    client.settle('acknowledged', rest);
  }
  assert.deepEqual(client.happened(), ['stream-closed 2']);
});

test('§3.1: a reset drops what is queued and names what was sent as the final size', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, Buffer.alloc(5000));
  const lost = sent(client.packet(1000));
  client.streams.reset(id, 7);
  client.settle('lost', lost);
  assert.equal(client.streams.queued(id), 0);
  pair.run();
  assert.deepEqual(server.received, ['RESET_STREAM 2 7 996']);
  assert.deepEqual(server.happened(), ['stream-opened 2', 'stream-reset 2 7', 'stream-closed 2']);
  assert.deepEqual(client.happened(), ['stream-closed 2']);
  assert.equal(client.streams.size + server.streams.size, 0);
});

test('§13.3: a RESET_STREAM that was lost is sent again until it is acknowledged', () => {
  const pair = new StreamsPair();
  const { client } = pair;
  const id = client.streams.open(false) ?? -1;
  client.streams.reset(id, 7);
  const first = sent(client.packet());
  client.settle('lost', first);
  const second = sent(client.packet());
  client.settle('acknowledged', second);
  client.settle('lost', first);
  assert.equal(client.packet(), undefined);
  assert.equal(client.streams.size, 0);
});

for (const end of ['read', 'stopped'] as const) {
  test(`§3.2: what came in order before a reset is left to the reader, until it is ${end}`, () => {
    const pair = new StreamsPair();
    const { client, server } = pair;
    const id = client.streams.open(false) ?? -1;
    client.streams.write(id, Buffer.alloc(5000));
    pair.run();
    client.streams.reset(id, 7);
    pair.run();
    assert.equal(server.streams.unread, 5000);
    assert.deepEqual(server.happened(), [
      'stream-opened 2',
      'stream-readable 2',
      'stream-reset 2 7',
    ]);
    if (end === 'read') assert.equal(server.read(id).data.length, 5000);
    else server.streams.stopSending(id, 0);
    assert.equal(server.streams.unread, 0);
    assert.equal(server.streams.read(id), undefined);
    assert.deepEqual(server.happened(), ['stream-closed 2']);
  });
}

test('§3.2: a reset drops what came after a gap, and gives its room back', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, text('early'));
  client.packet();
  client.streams.write(id, text('late'));
  server.receive(sent(client.packet()));
  client.streams.reset(id, 7);
  server.receive(sent(client.packet()));
  assert.equal(server.streams.unread, 0);
  assert.equal(server.streams.read(id), undefined);
  assert.deepEqual(server.happened(), ['stream-opened 2', 'stream-reset 2 7', 'stream-closed 2']);
});

test('§3.2: a reset after all data has come does not take it away', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, text('all'));
  client.streams.finish(id);
  server.receive(sent(client.packet()));
  client.streams.reset(id, 7);
  pair.run();
  assert.deepEqual(server.happened(), ['stream-opened 2', 'stream-readable 2']);
  assert.deepEqual(server.read(id), { data: text('all'), ended: true });
});

test('§3.2: a stream opens all streams of its kind below it', () => {
  const { server } = new StreamsPair();
  assert.equal(server.streams.stream(8, 0, text('x'), 0, 1, false), undefined);
  assert.deepEqual(server.happened(), [
    'stream-opened 0',
    'stream-opened 4',
    'stream-opened 8',
    'stream-readable 8',
  ]);
});

test('§3.2: MAX_STREAM_DATA, STOP_SENDING and STREAM_DATA_BLOCKED open a stream of the peer', () => {
  const { server } = new StreamsPair();
  assert.equal(server.streams.maxStreamData(0, 1), undefined);
  assert.equal(server.streams.stopSendingReceived(4, 1), undefined);
  assert.equal(server.streams.streamDataBlocked(8, 1), undefined);
  assert.deepEqual(server.happened(), [
    'stream-opened 0',
    'stream-opened 4',
    'stream-stopped 4 1',
    'stream-opened 8',
  ]);
});

test('§3.5: STOP_SENDING is answered with RESET_STREAM of the same code', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(true) ?? -1;
  client.streams.write(id, Buffer.alloc(5000));
  pair.deliver(client);
  server.streams.stopSending(id, 9);
  pair.deliver(server);
  assert.deepEqual(client.happened(), ['stream-stopped 0 9']);
  assert.equal(client.streams.write(id, text('more')), undefined);
  server.received.length = 0;
  pair.run();
  assert.deepEqual(server.received, ['RESET_STREAM 0 9 1196']);
  assert.ok(!server.happened().includes('stream-reset 0 9'), 'it has asked for that');
});

test('§3.5: after STOP_SENDING the data that still comes is dropped and takes no window', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, Buffer.alloc(3000));
  pair.deliver(client);
  server.streams.stopSending(id, 9);
  pair.deliver(client);
  assert.equal(server.streams.unread, 0);
  assert.equal(server.streams.read(id), undefined);
  client.streams.finish(id);
  pair.deliver(client);
  assert.equal(server.streams.size, 0, 'the end is known, nothing more is of interest');
});

test('§13.3: a STOP_SENDING that was lost is sent again until the final size is known', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(true) ?? -1;
  client.streams.write(id, text('x'));
  pair.deliver(client);
  server.streams.stopSending(id, 9);
  server.settle('lost', sent(server.packet()));
  const again = sent(server.packet());
  client.streams.finish(id);
  pair.deliver(client);
  server.settle('lost', again);
  assert.equal(server.packet(), undefined);
});

test('§4.1: a stream sends up to its limit and says that it is blocked, once', () => {
  const pair = new StreamsPair({ streamWindow: 1000, maxStreamWindow: 1000 });
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  client.streams.write(id, Buffer.alloc(1500));
  pair.run();
  assert.deepEqual(server.received, ['STREAM 2 0 1000', 'STREAM_DATA_BLOCKED 2 1000']);
  assert.equal(server.read(id).data.length, 1000);
  pair.run();
  assert.deepEqual(client.received, ['MAX_STREAM_DATA 2 2000']);
  assert.equal(server.received.at(-1), 'STREAM 2 1000 500');
});

test('§4.1: all streams together send up to the limit of the connection and say so, once', () => {
  const pair = new StreamsPair({ connectionWindow: 1000, maxConnectionWindow: 1000, unread: 1000 });
  const { client, server } = pair;
  const first = client.streams.open(false) ?? -1;
  const second = client.streams.open(false) ?? -1;
  client.streams.write(first, Buffer.alloc(800));
  client.streams.write(second, Buffer.alloc(800));
  pair.run();
  assert.deepEqual(server.received, ['STREAM 2 0 800', 'STREAM 6 0 200', 'DATA_BLOCKED 1000']);
  server.read(first);
  pair.run();
  assert.deepEqual(client.received, ['MAX_DATA 1800']);
  assert.equal(server.received.at(-1), 'STREAM 6 200 600');
});

test('§13.3: *_BLOCKED frames that were lost are sent again while their limit holds', () => {
  const pair = new StreamsPair({
    streamWindow: 100,
    maxStreamWindow: 100,
    unidirectionalStreams: 1,
  });
  const { client } = pair;
  const id = client.streams.open(false) ?? -1;
  assert.equal(client.streams.open(false), undefined);
  client.streams.write(id, Buffer.alloc(200));
  const packet = sent(client.packet());
  const blocked = sent(client.packet());
  client.settle('lost', packet);
  client.settle('lost', blocked);
  pair.run();
  assert.deepEqual(pair.server.received.toSorted(), [
    'STREAM 2 0 100',
    'STREAMS_BLOCKED false 1',
    'STREAM_DATA_BLOCKED 2 100',
  ]);
});

test('§4.1: a limit that is not higher changes nothing', () => {
  const { client } = new StreamsPair({ streamWindow: 100 });
  const id = client.streams.open(false) ?? -1;
  client.streams.maxStreamData(id, 50);
  client.streams.maxData(50);
  client.streams.maxStreams(false, 0);
  client.streams.write(id, Buffer.alloc(200));
  sent(client.packet());
  assert.equal(client.streams.queued(id), 100);
  assert.equal(client.streams.open(false), 6);
});

test('§4.1: more than the limit of a stream is a FLOW_CONTROL_ERROR', () => {
  const { server } = new StreamsPair({ streamWindow: 10 });
  assert.equal(server.streams.stream(2, 0, Buffer.alloc(10), 0, 10, false), undefined);
  assert.equal(codeOf(server.streams.stream(2, 10, text('x'), 0, 1, false)), 'FLOW_CONTROL_ERROR');
  assert.equal(codeOf(server.streams.resetStream(6, 0, 11)), 'FLOW_CONTROL_ERROR');
});

test('§4.1: more than the limit of the connection is a FLOW_CONTROL_ERROR', () => {
  const { server } = new StreamsPair({ connectionWindow: 10 });
  assert.equal(server.streams.stream(2, 0, Buffer.alloc(6), 0, 6, false), undefined);
  assert.equal(codeOf(server.streams.stream(6, 4, text('x'), 0, 1, false)), 'FLOW_CONTROL_ERROR');
});

test('§4.5: a final size that changes or lies below the data is a FINAL_SIZE_ERROR', () => {
  const { server } = new StreamsPair();
  const { streams } = server;
  assert.equal(streams.stream(2, 0, text('abc'), 0, 3, true), undefined);
  assert.equal(codeOf(streams.stream(2, 3, text('x'), 0, 1, false)), 'FINAL_SIZE_ERROR');
  assert.equal(codeOf(streams.stream(2, 2, EMPTY, 0, 0, true)), 'FINAL_SIZE_ERROR');
  assert.equal(codeOf(streams.resetStream(2, 0, 4)), 'FINAL_SIZE_ERROR');
  assert.equal(streams.stream(6, 0, text('abc'), 0, 3, false), undefined);
  assert.equal(codeOf(streams.stream(6, 2, EMPTY, 0, 0, true)), 'FINAL_SIZE_ERROR');
  assert.equal(codeOf(streams.resetStream(6, 0, 2)), 'FINAL_SIZE_ERROR');
});

test('§4.5: the final size of a reset stream holds for what comes late', () => {
  const { server } = new StreamsPair();
  const { streams } = server;
  assert.equal(streams.resetStream(0, 0, 5), undefined);
  assert.equal(streams.stream(0, 0, text('abcde'), 0, 5, true), undefined);
  assert.equal(codeOf(streams.stream(0, 0, text('abcdef'), 0, 6, false)), 'FINAL_SIZE_ERROR');
});

test('§4.6: a stream beyond the limit is a STREAM_LIMIT_ERROR', () => {
  const { server } = new StreamsPair({ bidirectionalStreams: 2, unidirectionalStreams: 1 });
  assert.equal(server.streams.stream(4, 0, text('x'), 0, 1, false), undefined);
  assert.equal(codeOf(server.streams.stream(8, 0, text('x'), 0, 1, false)), 'STREAM_LIMIT_ERROR');
  assert.equal(codeOf(server.streams.resetStream(6, 0, 0)), 'STREAM_LIMIT_ERROR');
});

test('§4.6: closed streams make room for others', () => {
  const pair = new StreamsPair({ unidirectionalStreams: 1 });
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  assert.equal(client.streams.open(false), undefined);
  client.streams.finish(id);
  pair.run();
  assert.deepEqual(client.happened(), ['stream-closed 2']);
  assert.ok(server.received.includes('STREAMS_BLOCKED false 1'));
  server.read(id);
  pair.run();
  assert.deepEqual(client.received, ['MAX_STREAMS false 2']);
  assert.deepEqual(client.happened(), ['streams-available false']);
  assert.equal(client.streams.open(false), 6);
});

test('§4.6: MAX_STREAMS comes for every quarter, and for each stream when the peer has few left', () => {
  const pair = new StreamsPair({ unidirectionalStreams: 100 });
  const { client, server } = pair;
  for (let i = 0; i < 50; i++) client.streams.open(false);
  for (const id of [2, 6]) {
    client.streams.finish(id);
    pair.run();
    server.read(id);
    pair.run();
  }
  assert.deepEqual(client.received, [], 'two in a hundred are not worth a frame');
  for (let i = 50; i < 100; i++) client.streams.open(false);
  assert.equal(client.streams.open(false), undefined);
  const last = 4 * 99 + 2;
  client.streams.finish(last);
  pair.run();
  assert.deepEqual(client.received, ['MAX_STREAMS false 102']);
  server.read(last);
  pair.run();
  assert.deepEqual(client.received, ['MAX_STREAMS false 102', 'MAX_STREAMS false 103']);
});

test('§13.3: the newest MAX_DATA, MAX_STREAM_DATA and MAX_STREAMS are sent again when lost', () => {
  const pair = new StreamsPair({
    connectionWindow: 1000,
    streamWindow: 1000,
    bidirectionalStreams: 1,
    maxConnectionWindow: 1000,
    unread: 1000,
    maxStreamWindow: 1000,
  });
  const { client, server } = pair;
  const id = client.streams.open(true) ?? -1;
  client.streams.write(id, Buffer.alloc(500));
  pair.run();
  server.read(id);
  const old = sent(server.packet());
  client.streams.write(id, Buffer.alloc(500));
  pair.deliver(client);
  server.read(id);
  const newest = sent(server.packet());
  server.settle('lost', old);
  assert.equal(server.packet(), undefined, 'a newer limit is on its way');
  server.settle('lost', newest);
  pair.deliver(server);
  assert.deepEqual(client.received, ['MAX_DATA 2000', 'MAX_STREAM_DATA 0 2000']);
});

test('§19.4 to §19.14: frames for streams of the wrong kind are STREAM_STATE_ERRORs', () => {
  const { client, server } = new StreamsPair();
  const own = server.streams.open(false) ?? -1;
  const data = text('x');
  assert.equal(codeOf(server.streams.stream(own, 0, data, 0, 1, false)), 'STREAM_STATE_ERROR');
  assert.equal(codeOf(server.streams.resetStream(own, 0, 0)), 'STREAM_STATE_ERROR');
  assert.equal(codeOf(server.streams.streamDataBlocked(own, 0)), 'STREAM_STATE_ERROR');
  assert.equal(codeOf(server.streams.stopSendingReceived(2, 0)), 'STREAM_STATE_ERROR');
  assert.equal(codeOf(server.streams.maxStreamData(2, 0)), 'STREAM_STATE_ERROR');
  // Streams that only this side could have opened, and has not.
  assert.equal(codeOf(client.streams.stream(0, 0, data, 0, 1, false)), 'STREAM_STATE_ERROR');
  assert.equal(codeOf(client.streams.resetStream(0, 0, 0)), 'STREAM_STATE_ERROR');
  assert.equal(codeOf(client.streams.stopSendingReceived(2, 0)), 'STREAM_STATE_ERROR');
  assert.equal(codeOf(client.streams.maxStreamData(2, 0)), 'STREAM_STATE_ERROR');
});

test('frames for a stream that is forgotten do nothing', () => {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(true) ?? -1;
  client.streams.write(id, text('x'));
  const late = sent(client.packet());
  client.streams.reset(id, 1);
  pair.run();
  server.happened();
  server.streams.reset(id, 1);
  pair.run();
  client.happened();
  server.happened();
  assert.equal(client.streams.size + server.streams.size, 0);
  client.settle('lost', late);
  client.settle('acknowledged', late);
  for (const { streams } of [client, server]) {
    assert.equal(streams.stream(id, 0, text('x'), 0, 1, true), undefined);
    assert.equal(streams.resetStream(id, 0, 0), undefined);
    assert.equal(streams.stopSendingReceived(id, 0), undefined);
    assert.equal(streams.maxStreamData(id, 9), undefined);
    assert.equal(streams.streamDataBlocked(id, 9), undefined);
    assert.equal(streams.write(id, text('x')), undefined);
    streams.finish(id);
    streams.reset(id, 0);
    streams.stopSending(id, 0);
    assert.equal(streams.read(id), undefined);
    assert.equal(streams.hasFrames && streams.size > 0, false);
  }
  assert.deepEqual([client.happened(), server.happened()], [[], []]);
});

test('nothing is opened or sent before the peer has said what it grants', () => {
  const pair = new StreamsPair({ bidirectionalStreams: 0, connectionWindow: 0 });
  assert.equal(pair.client.streams.open(true), undefined);
  assert.deepEqual(pair.client.happened(), []);
  pair.client.streams.maxStreams(true, 1);
  assert.deepEqual(pair.client.happened(), ['streams-available true']);
});
