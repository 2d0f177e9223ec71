import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Http2ErrorCode } from '../../../../src/http/http2/errors.ts';
import type { HttpField } from '../../../../src/http/fields/field.ts';
import { FrameType } from '../../../../src/http/http2/frames.ts';
import { SEND_QUEUE_BYTES } from '../../../../src/http/http2/limits.ts';
import { Core, corePair, exchange, REQUEST } from '../../../support/http2/core.ts';
import {
  CLIENT_START,
  frame,
  requestFrame,
  settingsFrame,
  uint32,
} from '../../../support/http2/raw-frames.ts';

const OK: readonly HttpField[] = [{ name: ':status', value: '200' }];
const TRAILERS: readonly HttpField[] = [{ name: 'grpc-status', value: '0' }];

test('a request and its response carry headers, data and trailers both ways', () => {
  const { client, server } = corePair();
  const call = client.request();
  call.write('question');
  exchange(client, server);
  const [request] = server.requests;
  assert.ok(request);
  assert.deepEqual(request.head, REQUEST);
  assert.equal(String(request.data), 'question');
  request.stream.respond(OK, false);
  request.write('answer');
  request.stream.end(TRAILERS);
  exchange(client, server);
  assert.deepEqual([call.status, String(call.data)], [200, 'answer']);
  assert.deepEqual(call.trailers, TRAILERS);
  assert.ok(call.stream.remoteEnded && !call.stream.isClosed);
  // The other direction goes on (half-closed, RFC 9113 §5.1).
  call.write(' and more');
  call.stream.end();
  exchange(client, server);
  assert.equal(String(request.data), 'question and more');
  assert.ok(call.stream.isClosed && request.stream.isClosed);
  assert.deepEqual([client.connection.streamCount, server.connection.streamCount], [0, 0]);
});

test('the last DATA frame of a stream that was ended before carries END_STREAM', () => {
  const { client, server } = corePair({}, { settings: { initialWindowSize: 4 } });
  const call = client.request();
  call.write('12345678');
  call.stream.end();
  const sent = client.frames().filter(({ type }) => type === FrameType.DATA);
  assert.deepEqual(
    sent.map(({ payload, flags }) => [String(payload), flags]),
    [['1234', 0]],
  );
  client.receive(frame(FrameType.WINDOW_UPDATE, 0, 1, uint32(100)));
  assert.deepEqual(
    client.frames().map(({ payload, flags }) => [String(payload), flags]),
    [['5678', 1]],
  );
  assert.ok(call.endSent);
  server.connection.lost(undefined);
});

test('the end of a stream is sent once, whatever windows the peer opens behind it', () => {
  const { client, server } = corePair();
  const call = client.request();
  call.write('all');
  call.stream.end();
  exchange(client, server);
  client.receive(frame(FrameType.WINDOW_UPDATE, 0, 1, uint32(100)), settingsFrame([4, 70_000]));
  assert.deepEqual(
    client.frames().map(({ type }) => type),
    [FrameType.SETTINGS],
  );
});

test('a reader that rests holds back its own stream, at the window, and no other', () => {
  const window = 1000;
  const { client, server } = corePair({}, { settings: { initialWindowSize: window } });
  server.rests = true;
  const [stalled, other] = [client.request(), client.request()];
  stalled.write(Buffer.alloc(3000));
  exchange(client, server);
  const [first, second] = server.requests;
  assert.equal(first?.stream.readable, window);
  assert.equal(stalled.stream.queued, 2000);
  other.write('hello');
  exchange(client, server);
  assert.equal(second?.stream.readable, 5);
  // The window grows as bytes are taken, from a quarter of it on.
  first.read(249);
  exchange(client, server);
  assert.equal(stalled.stream.queued, 2000);
  first.read(1);
  exchange(client, server);
  assert.equal(stalled.stream.queued, 1750);
  first.rests = false;
  first.read(window);
  exchange(client, server);
  assert.equal(stalled.stream.queued, 0);
  assert.equal(first.data.length, 3000);
});

test('a peer that exceeds the window of a stream has it reset', () => {
  const core = new Core({ settings: { initialWindowSize: 10 } });
  core.rests = true;
  core.receive(CLIENT_START, settingsAcks(1), requestFrame(1));
  core.receive(frame(FrameType.DATA, 0, 1, Buffer.alloc(10)));
  assert.deepEqual(core.resetCodes, [undefined]);
  core.receive(frame(FrameType.DATA, 0, 1, Buffer.alloc(1)));
  assert.deepEqual(core.resetCodes, [Http2ErrorCode.FLOW_CONTROL_ERROR]);
  assert.equal(core.isEnded, false);
});

const settingsAcks = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => frame(FrameType.SETTINGS, 1, 0)));

test('the window of a connection is replenished as data arrives, read or not', () => {
  const { client, server } = corePair(
    {},
    { connectionWindow: 100_000, settings: { initialWindowSize: 90_000 } },
  );
  server.rests = true;
  for (let i = 0; i < 5; i++) {
    client.request().write(Buffer.alloc(80_000));
    exchange(client, server);
  }
  assert.deepEqual(
    server.requests.map(({ stream }) => stream.readable),
    Array.from({ length: 5 }, () => 80_000),
  );
});

test('a smaller window is in force with its acknowledgement, not before', () => {
  const core = new Core({ settings: { initialWindowSize: 1000 } });
  core.rests = true;
  core.receive(CLIENT_START, settingsAcks(1), requestFrame(1), requestFrame(3));
  let acknowledged = false;
  core.connection.changeSettings({ initialWindowSize: 100 }, () => (acknowledged = true));
  core.receive(frame(FrameType.DATA, 0, 1, Buffer.alloc(900)));
  core.receive(settingsAcks(1));
  assert.ok(acknowledged);
  core.receive(frame(FrameType.DATA, 0, 3, Buffer.alloc(101)));
  assert.deepEqual(core.resetCodes, [undefined, Http2ErrorCode.FLOW_CONTROL_ERROR]);
  // The first stream has used more than it has now; it is granted more once that is taken.
  core.send();
  core.requests[0]?.read(900);
  const [update] = core.frames();
  assert.equal(update?.type, FrameType.WINDOW_UPDATE);
  assert.equal(update.payload.readUInt32BE(), 900);
});

test('settings of the peer that shrink a window below zero hold back what is queued', () => {
  const { client, server } = corePair({}, { settings: { initialWindowSize: 1000 } });
  server.rests = true;
  const call = client.request();
  call.write(Buffer.alloc(1500));
  exchange(client, server);
  client.receive(settingsFrame([4, 400]));
  client.receive(frame(FrameType.WINDOW_UPDATE, 0, 1, uint32(500)));
  client.send();
  assert.equal(call.stream.queued, 500);
  client.receive(frame(FrameType.WINDOW_UPDATE, 0, 1, uint32(200)));
  assert.equal(call.stream.queued, 400);
});

test('whatever windows the peer gives and takes, data stays within them and arrives in the end', () => {
  const change = fc.oneof(
    fc.integer({ min: 0, max: 40 }).map((size) => ({ kind: 'settings' as const, size })),
    fc
      .tuple(fc.nat(2), fc.integer({ min: 1, max: 30 }))
      .map(([at, size]) => ({ kind: 'update' as const, at, size })),
    fc
      .tuple(fc.nat(2), fc.integer({ min: 1, max: 60 }))
      .map(([at, size]) => ({ kind: 'write' as const, at, size })),
    fc.nat(2).map((at) => ({ kind: 'end' as const, at })),
    fc.boolean().map((isBlocked) => ({ kind: 'block' as const, isBlocked })),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40, size: 'max' }), (changes) => {
      const core = new Core();
      core.receive(CLIENT_START, ...[1, 3, 5].map((id) => requestFrame(id)));
      const written = [0, 0, 0];
      const sent = [0, 0, 0];
      const credits = [0, 0, 0];
      let size = 65_535;
      const look = (): void => {
        for (const { type, streamId, payload } of core.frames()) {
          if (type !== FrameType.DATA || payload.length === 0) continue;
          const at = (streamId - 1) / 2;
          sent[at] = (sent[at] ?? 0) + payload.length;
          assert.ok(sent[at] <= size + (credits[at] ?? 0), 'within its window');
        }
      };
      for (const each of changes) {
        switch (each.kind) {
          case 'settings':
            size = each.size;
            core.receive(settingsFrame([4, size]));
            break;
          case 'update':
            credits[each.at] = (credits[each.at] ?? 0) + each.size;
            core.receive(frame(FrameType.WINDOW_UPDATE, 0, 2 * each.at + 1, uint32(each.size)));
            break;
          case 'write':
            if (core.requests[each.at]?.stream.isWritable !== true) break;
            core.requests[each.at]?.write(Buffer.alloc(each.size));
            written[each.at] = (written[each.at] ?? 0) + each.size;
            break;
          case 'end':
            core.requests[each.at]?.stream.end();
            break;
          case 'block':
            core.connection.isBlocked = each.isBlocked;
            break;
          default:
            each satisfies never;
        }
        look();
      }
      core.connection.isBlocked = false;
      size = 1 << 20;
      core.receive(settingsFrame([4, size]));
      look();
      assert.deepEqual(sent, written);
    }),
  );
});

test('a writer waits above the bound of its queue, and is called when there is room', () => {
  const { client, server } = corePair({}, { settings: { initialWindowSize: 1 << 20 } });
  server.rests = true;
  const call = client.request();
  client.connection.isBlocked = true;
  assert.equal(call.write(Buffer.alloc(SEND_QUEUE_BYTES - 1)), true);
  assert.equal(call.write(Buffer.alloc(1)), false);
  assert.equal(call.writable, 0);
  client.connection.isBlocked = false;
  assert.equal(call.writable, 1);
  exchange(client, server);
  assert.equal(server.requests[0]?.stream.readable, SEND_QUEUE_BYTES);
});

test('streams share the connection, a frame of each in turn', () => {
  const { client } = corePair();
  const calls = [client.request(), client.request(), client.request()];
  client.send();
  client.connection.isBlocked = true;
  for (const call of calls) call.write(Buffer.alloc(20_000));
  client.connection.isBlocked = false;
  assert.deepEqual(
    client.frames().map(({ streamId }) => streamId),
    [1, 3, 5, 1, 3, 5],
  );
});

test('streams beyond the limit are refused, and more are taken once others have ended', () => {
  const core = new Core({ settings: { maxConcurrentStreams: 2 } });
  core.receive(CLIENT_START, settingsAcks(1), requestFrame(1), requestFrame(3), requestFrame(5));
  assert.equal(core.requests.length, 2);
  const refusal = core.frames().find(({ type }) => type === FrameType.RST_STREAM);
  assert.deepEqual([refusal?.streamId, refusal?.payload.readUInt32BE()], [5, 7]);
  core.receive(frame(FrameType.RST_STREAM, 0, 1, uint32(8)), requestFrame(7));
  assert.equal(core.requests.length, 3);
});

test('a client makes no more requests at once than the server accepts', () => {
  const { client, server } = corePair({}, { settings: { maxConcurrentStreams: 1 } });
  const call = client.request();
  assert.equal(client.connection.mayRequest, false);
  assert.equal(client.connection.request(REQUEST), undefined);
  call.stream.reset(Http2ErrorCode.CANCEL);
  assert.ok(client.connection.mayRequest);
  exchange(client, server);
});

test('a reset ends a stream at once, and what is in flight for it is dropped', () => {
  const { client, server } = corePair();
  const call = client.request();
  exchange(client, server);
  const [request] = server.requests;
  request?.stream.respond(OK, false);
  request?.write('late');
  call.stream.reset(Http2ErrorCode.CANCEL);
  exchange(client, server);
  assert.deepEqual(request?.end, { by: 'peer', code: Http2ErrorCode.CANCEL });
  assert.equal(call.data.length, 0);
  assert.equal(request?.write('more'), undefined);
  assert.equal(client.isEnded || server.isEnded, false);
  assert.deepEqual([client.connection.streamCount, server.connection.streamCount], [0, 0]);
});

test('a GOAWAY keeps the streams that it covers, and refuses those that cross it', () => {
  const { client, server } = corePair();
  const before = client.request();
  exchange(client, server);
  server.connection.goAway();
  const crossing = client.request();
  exchange(client, server);
  assert.deepEqual(crossing.end, { by: 'peer', code: Http2ErrorCode.REFUSED_STREAM });
  assert.equal(server.requests.length, 1);
  assert.equal(client.connection.mayRequest, false);
  before.write('still');
  exchange(client, server);
  assert.equal(String(server.requests[0]?.data), 'still');
  assert.equal(server.connection.state, 'going');
});

test('a GOAWAY with an error is kept as the reason, without what a log cannot show', () => {
  const { client } = corePair();
  client.receive(
    frame(FrameType.GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(11), Buffer.from('too\nmany')])),
  );
  assert.equal(client.connection.goAwayReason, 'ENHANCE_YOUR_CALM: too?many');
});

test('a PING is acknowledged with its data, and the acknowledgement of one is reported once', () => {
  const { client, server } = corePair();
  let acknowledged = 0;
  assert.ok(client.connection.ping(() => acknowledged++));
  exchange(client, server);
  assert.equal(acknowledged, 1);
  client.receive(frame(FrameType.PING, 1, 0, Buffer.alloc(8)));
  assert.equal(acknowledged, 1);
  client.receive(frame(FrameType.PING, 0, 0, Buffer.from('12345678')));
  const [ack] = client.frames();
  assert.deepEqual([ack?.type, ack?.flags, String(ack?.payload)], [FrameType.PING, 1, '12345678']);
});

test('interim responses come before the final one, which is reported alone', () => {
  const { client } = corePair();
  const call = client.request();
  client.receive(frame(FrameType.HEADERS, 4, 1, Buffer.from([0x48, 3, 0x31, 0x30, 0x33])));
  assert.equal(call.status, undefined);
  client.receive(frame(FrameType.HEADERS, 4, 1, Buffer.from([0x88])));
  assert.equal(call.status, 200);
});

test('the end of the connection ends every stream, for its reason', () => {
  const { client } = corePair();
  const call = client.request();
  const error = new Error('lost');
  client.connection.lost(error);
  assert.deepEqual(call.end, { by: 'connection', code: Http2ErrorCode.CANCEL, cause: error });
  assert.ok(client.isEnded && call.stream.isClosed);
  assert.equal(call.write('x'), undefined);
});

test('a thousand streams at once carry each its own bytes, and leave nothing behind', () => {
  const { client, server } = corePair({}, { settings: { maxConcurrentStreams: 1000 } });
  const calls = Array.from({ length: 1000 }, () => client.request());
  for (const [i, call] of calls.entries()) {
    call.write(`request ${i}`);
    call.stream.end();
  }
  exchange(client, server);
  for (const request of server.requests) {
    request.stream.respond(OK, false);
    request.write(`re: ${String(request.data)}`);
    request.stream.end(TRAILERS);
  }
  exchange(client, server);
  for (const [i, call] of calls.entries()) assert.equal(String(call.data), `re: request ${i}`);
  assert.deepEqual([client.connection.streamCount, server.connection.streamCount], [0, 0]);
});
