import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpField } from '../../../../src/http/fields/field.ts';
import { Http2ErrorCode } from '../../../../src/http/http2/errors.ts';
import { Flag, FrameType } from '../../../../src/http/http2/frames.ts';
import { ClosedStreams } from '../../../../src/http/http2/closed-streams.ts';
import {
  CLOSED_STREAM_LIMIT,
  IDLE_FRAME_BURST,
  SKIPPED_RANGE_LIMIT,
} from '../../../../src/http/http2/limits.ts';
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

test('the ids that a peer passes over are closed, those that it used and the other side has are not', () => {
  const passedOver = (steps: readonly (readonly [last: number, id: number])[]): number[] => {
    const closed = new ClosedStreams();
    for (const [last, id] of steps) closed.skip(last, id);
    return Array.from({ length: 30 }, (_, at) => at + 1).filter((id) => {
      const error = closed.errorOf(id);
      assert.equal(error?.name, error && 'PROTOCOL_ERROR');
      return error !== undefined && id % 2 === (steps[0]?.[1] ?? 0) % 2;
    });
  };
  assert.deepEqual(passedOver([]), []);
  assert.deepEqual(passedOver([[0, 1]]), []);
  assert.deepEqual(passedOver([[0, 2]]), []);
  assert.deepEqual(passedOver([[0, 3]]), [1]);
  assert.deepEqual(passedOver([[0, 4]]), [2]);
  assert.deepEqual(passedOver([[0, 9]]), [1, 3, 5, 7]);
  assert.deepEqual(
    passedOver([
      [0, 1],
      [1, 3],
      [3, 9],
      [9, 15],
    ]),
    [5, 7, 11, 13],
  );
});

test('the ranges that were passed over first are forgotten once there are many', () => {
  const closed = new ClosedStreams();
  const gapOf = (at: number): number => 4 * at + 1;
  for (let at = 0; at < SKIPPED_RANGE_LIMIT; at++) closed.skip(gapOf(at) - 2, gapOf(at) + 2);
  // The next ids in a row are no range.
  const last = gapOf(SKIPPED_RANGE_LIMIT - 1) + 2;
  closed.skip(last, last + 2);
  assert.ok(closed.errorOf(gapOf(0)));
  closed.skip(last + 2, last + 6);
  assert.equal(closed.errorOf(gapOf(0)), undefined);
  for (let at = 1; at < SKIPPED_RANGE_LIMIT; at++) assert.ok(closed.errorOf(gapOf(at)));
  assert.ok(closed.errorOf(last + 4));
});

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
