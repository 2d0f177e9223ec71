import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpField } from '../../../../src/http/fields/field.ts';
import { Http2ErrorCode } from '../../../../src/http/http2/errors.ts';
import { Flag, FrameType } from '../../../../src/http/http2/frames.ts';
import { CLOSED_STREAM_LIMIT, IDLE_FRAME_BURST } from '../../../../src/http/http2/limits.ts';
import { Core } from '../../../support/http2/core.ts';
import {
  CLIENT_START,
  frame,
  plainBlock,
  REQUEST_BLOCK,
  requestFrame,
  uint32,
} from '../../../support/http2/raw-frames.ts';

const OK: readonly HttpField[] = [{ name: ':status', value: '200' }];

const trailersFrame = (id: number): Buffer =>
  frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, id, plainBlock([['a', 'b']]));
const dataFrame = (id: number): Buffer => frame(FrameType.DATA, 0, id, Buffer.from('data'));
const resetFrame = (id: number): Buffer => frame(FrameType.RST_STREAM, 0, id, uint32(8));
const lastRequestFrame = (id: number): Buffer =>
  frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, id, REQUEST_BLOCK);

/** A server that has accepted requests on these streams. */
function serverWith(...frames: readonly Buffer[]): Core {
  const server = new Core();
  server.receive(CLIENT_START, ...frames);
  server.send();
  return server;
}

/** The stream ids and codes of the resets that a server has sent. */
const resetsOf = (server: Core): number[][] =>
  server
    .frames()
    .filter(({ type }) => type === FrameType.RST_STREAM)
    .map(({ streamId, payload }) => [streamId, payload.readUInt32BE()]);

for (const [name, late] of [
  ['DATA', dataFrame(1)],
  ['HEADERS', trailersFrame(1)],
] as const) {
  test(`${name} after the end of a stream that is closed ends the connection`, () => {
    const server = serverWith(lastRequestFrame(1));
    server.requests[0]?.stream.respond(OK, true);
    server.receive(late);
    assert.equal(server.errorName, 'STREAM_CLOSED');
  });

  test(`${name} after the peer's reset of a stream is an error of that stream alone`, () => {
    const server = serverWith(requestFrame(1), requestFrame(3), resetFrame(1));
    server.receive(late);
    assert.deepEqual(resetsOf(server), [[1, Http2ErrorCode.STREAM_CLOSED]]);
    assert.ok(!server.isEnded && !server.requests[1]?.stream.isClosed);
  });

  test(`${name} after resets of both sides is an error of the stream`, () => {
    const server = serverWith(requestFrame(1));
    server.requests[0]?.stream.reset(Http2ErrorCode.CANCEL);
    server.send();
    server.receive(resetFrame(1), late);
    assert.deepEqual(resetsOf(server), [[1, Http2ErrorCode.STREAM_CLOSED]]);
  });

  test(`${name} on a stream that this side has reset was in flight and is ignored`, () => {
    const server = serverWith(requestFrame(1));
    server.requests[0]?.stream.reset(Http2ErrorCode.CANCEL);
    server.send();
    server.receive(late);
    assert.deepEqual(server.frames(), []);
    assert.ok(!server.isEnded);
  });

  test(`${name} on a stream that the peer has passed over ends the connection`, () => {
    for (const last of [3, 9]) {
      const server = serverWith(requestFrame(last));
      server.receive(late);
      assert.equal(server.errorName, 'PROTOCOL_ERROR');
    }
  });
}

test('how a stream ended is forgotten once many others were closed', () => {
  const server = serverWith();
  const ids = Array.from({ length: CLOSED_STREAM_LIMIT + 1 }, (_, i) => 2 * i + 1);
  for (const id of ids) {
    server.receive(lastRequestFrame(id));
    server.requests.at(-1)?.stream.respond(OK, true);
  }
  server.receive(dataFrame(1));
  assert.ok(!server.isEnded);
  server.receive(dataFrame(3));
  assert.equal(server.errorName, 'STREAM_CLOSED');
});

test('header blocks that are ignored are limited as frames that carry nothing', () => {
  const server = serverWith(requestFrame(1));
  server.requests[0]?.stream.reset(Http2ErrorCode.CANCEL);
  server.receive(...Array.from({ length: IDLE_FRAME_BURST + 1 }, () => trailersFrame(1)));
  assert.equal(server.errorName, 'ENHANCE_YOUR_CALM');
});

test('a window update of nothing is an error on a closed stream too', () => {
  const server = serverWith(lastRequestFrame(1));
  server.requests[0]?.stream.respond(OK, true);
  server.send();
  server.receive(frame(FrameType.WINDOW_UPDATE, 0, 1, uint32(0)));
  assert.deepEqual(resetsOf(server), [[1, Http2ErrorCode.PROTOCOL_ERROR]]);
});

test('a PRIORITY frame whose stream depends on itself ends the connection, as in HEADERS', () => {
  const server = serverWith();
  server.receive(frame(FrameType.PRIORITY, 0, 5, Buffer.concat([uint32(5), Buffer.from([15])])));
  assert.equal(server.errorName, 'PROTOCOL_ERROR');
});
