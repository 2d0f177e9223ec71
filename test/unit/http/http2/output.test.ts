import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Http2ErrorCode } from '../../../../src/http/http2/errors.ts';
import { FrameBatch, recycleBatch } from '../../../../src/http/http2/frame-batch.ts';
import { FrameType, Flag } from '../../../../src/http/http2/frames.ts';
import { REPLY_LIMIT } from '../../../../src/http/http2/limits.ts';
import { Core, REQUEST } from '../../../support/http2/core.ts';
import {
  CLIENT_START,
  frame,
  requestFrame,
  SETTINGS_ACK,
  settingsFrame,
  uint32,
} from '../../../support/http2/raw-frames.ts';

const { DATA, PING, RST_STREAM, WINDOW_UPDATE } = FrameType;
const OK = [{ name: ':status', value: '200' }];
/** Bytes of a batch of the usual size. */
const BATCH = 80 << 10;

describe('a batch of frames', () => {
  test('has a buffer of the usual size, as long as it has frames', () => {
    const batch = new FrameBatch();
    assert.deepEqual([batch.length, batch.room, batch.bytes.length], [0, BATCH, 0]);
    assert.deepEqual([batch.reserve(10), batch.reserve(5), batch.length], [0, 10, 15]);
    assert.equal(batch.room, BATCH - 15);
    assert.equal(batch.bytes.length, BATCH);
    batch.bytes.set([1, 2, 3], 7);
    const taken = batch.take();
    assert.deepEqual([taken.length, taken.buffer.byteLength], [15, BATCH]);
    assert.deepEqual([...taken.subarray(7, 10)], [1, 2, 3]);
    assert.deepEqual([batch.length, batch.bytes.length], [0, 0]);
  });

  test('keeps its bytes when it grows: up to the usual size, for a longer frame, or to twice as much', () => {
    const batch = new FrameBatch();
    batch.reserve(BATCH);
    assert.equal(batch.bytes.length, BATCH);
    batch.bytes.fill(7);
    batch.reserve(1);
    assert.equal(batch.bytes.length, 2 * BATCH);
    batch.reserve(5 * BATCH);
    assert.equal(batch.bytes.length, 6 * BATCH + 1);
    assert.ok(
      batch
        .take()
        .subarray(0, BATCH)
        .every((byte) => byte === 7),
    );
  });

  test('uses the memory of sent ones again, of eight at most, and only those of the usual size', () => {
    const made = (length: number) => {
      const batch = new FrameBatch();
      batch.reserve(length);
      return batch.take();
    };
    // As many as may have been kept before, and one more.
    const sent = Array.from({ length: 9 }, () => made(1));
    for (const batch of [made(BATCH + 1), ...sent]) recycleBatch(batch);
    const buffers = new Set(sent.map(({ buffer }) => buffer));
    const again = Array.from({ length: 9 }, () => made(BATCH));
    assert.equal(again.filter(({ buffer }) => buffers.has(buffer)).length, 8);
    assert.ok(again.every(({ buffer }) => buffer.byteLength === BATCH));
  });
});

describe('output is reported', () => {
  /** A server with requests on streams 1 and 3, and whether an act has reported output. */
  function started() {
    const core = new Core({ settings: { initialWindowSize: 100 } });
    core.rests = true;
    core.receive(CLIENT_START, SETTINGS_ACK, requestFrame(1), requestFrame(3));
    core.receive(frame(DATA, 0, 1, Buffer.alloc(90)));
    core.send();
    const reports = (act: () => unknown): boolean => {
      core.send();
      core.outputs = 0;
      act();
      assert.equal(core.outputs > 0, core.connection.outputLength > 0);
      return core.outputs > 0;
    };
    const [first, second] = core.requests;
    assert.ok(first && second);
    return { core, first, second, reports };
  }

  test('at the beginning, for each act of the user, and for responses to the peer', () => {
    assert.equal(new Core().outputs > 0, true);
    const { core, first, second, reports } = started();
    const { connection } = core;
    assert.ok(reports(() => first.stream.respond(OK, false)));
    assert.ok(reports(() => first.write('data')));
    assert.ok(reports(() => first.read(90)));
    assert.ok(reports(() => first.stream.end()));
    assert.ok(reports(() => second.stream.respond(OK, true)));
    assert.ok(reports(() => first.stream.reset(Http2ErrorCode.CANCEL)));
    assert.ok(reports(() => connection.ping(() => undefined)));
    assert.ok(reports(() => connection.changeSettings({}, () => undefined)));
    assert.ok(reports(() => core.receive(frame(PING, 0, 0, Buffer.alloc(8)))));
    assert.ok(reports(() => connection.goAway()));
    assert.ok(reports(() => core.receive(frame(PING, 0, 0, Buffer.alloc(7)))));
    const client = new Core({ role: 'client' });
    client.receive(settingsFrame());
    client.send();
    client.outputs = 0;
    client.connection.request(REQUEST);
    assert.equal(client.outputs > 0, true);
  });

  test('once the link takes more, and not where there is none', () => {
    const { core, first, reports } = started();
    core.connection.isBlocked = true;
    assert.equal(
      reports(() => first.write('data')),
      false,
    );
    assert.equal(
      reports(() => (core.connection.isBlocked = true)),
      false,
    );
    assert.equal(
      reports(() => (core.connection.isBlocked = false)),
      true,
    );
    assert.equal(
      reports(() => (core.connection.isBlocked = false)),
      false,
    );
    assert.equal(
      reports(() => first.read(1)),
      false,
    );
    assert.equal(
      reports(() => core.receive(frame(WINDOW_UPDATE, 0, 1, uint32(1)))),
      false,
    );
    core.connection.lost(undefined);
    assert.equal(
      reports(() => (core.connection.isBlocked = false)),
      false,
    );
  });
});

test('each stream that ends is reported once, however it ends', () => {
  const core = new Core();
  core.receive(CLIENT_START, SETTINGS_ACK, ...[1, 3, 5, 7].map((id) => requestFrame(id)));
  const [first, , third] = core.requests;
  first?.stream.reset(Http2ErrorCode.CANCEL);
  core.receive(frame(RST_STREAM, 0, 3, uint32(8)));
  third?.stream.end();
  assert.equal(core.streamEnds, 2);
  core.receive(frame(DATA, Flag.END_STREAM, 5));
  assert.equal(core.streamEnds, 3);
  core.connection.lost(undefined);
  assert.equal(core.streamEnds, 4);
});

test('replies that are not taken are bounded, and count from zero once they are', () => {
  for (const [reply, size] of [
    [frame(PING, 0, 0, Buffer.alloc(8)), 17],
    [settingsFrame(), 9],
  ] as const) {
    const core = new Core();
    core.receive(CLIENT_START, SETTINGS_ACK);
    core.send();
    core.connection.isBlocked = true;
    const most = Math.floor(REPLY_LIMIT / size);
    /** The rate of frames that carry nothing is not the limit that is tested. */
    const next = (): void => {
      core.now += 10;
      core.receive(reply);
    };
    for (let count = 0; count < most; count++) next();
    assert.equal(core.isEnded, false);
    core.send();
    for (let count = 0; count < most; count++) next();
    assert.equal(core.isEnded, false);
    next();
    assert.equal(core.errorName, 'ENHANCE_YOUR_CALM');
  }
});
