import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Http2ErrorCode } from '../../../../src/http/http2/errors.ts';
import type { HttpField } from '../../../../src/http/fields/field.ts';
import { Flag, FrameType } from '../../../../src/http/http2/frames.ts';
import { STREAM_WORK, UNPROVEN_WORK_A_TURN } from '../../../../src/http/http2/limits.ts';
import { INTERIM_LIMIT } from '../../../../src/http/limits.ts';
import { Core, corePair, REQUEST } from '../../../support/http2/core.ts';
import {
  CLIENT_START,
  frame,
  type ParsedFrame,
  plainBlock,
  REQUEST_BLOCK,
  requestFrame,
  SETTINGS_ACK,
  settingsFrame,
  uint32,
} from '../../../support/http2/raw-frames.ts';

const { DATA, HEADERS, RST_STREAM, WINDOW_UPDATE } = FrameType;
const { END_HEADERS, END_STREAM, PADDED } = Flag;
const OK: readonly HttpField[] = [{ name: ':status', value: '200' }];

const status = (code: number, flags = 0): Buffer =>
  frame(HEADERS, END_HEADERS | flags, 1, plainBlock([[':status', String(code)]]));
const only = (frames: readonly ParsedFrame[], type: number): (readonly [number, number])[] =>
  frames
    .filter((each) => each.type === type)
    .map(({ streamId, payload }) => [streamId, payload.readUInt32BE()]);

/** A client with a request, whose server is the test. */
function requested() {
  const { client } = corePair();
  const call = client.request();
  client.send();
  return { client, call };
}

function started(...frames: readonly Uint8Array[]): Core {
  const core = new Core();
  core.receive(CLIENT_START, SETTINGS_ACK, ...frames);
  core.send();
  return core;
}

describe('a response over HTTP/2', () => {
  for (const [what, bytes] of [
    ['DATA at first', frame(DATA, 0, 1, Buffer.from('x'))],
    ['no status', frame(HEADERS, END_HEADERS, 1, plainBlock([['a', 'b']]))],
    ['status 101', status(101)],
    ['an interim response that ends it', status(103, END_STREAM)],
  ] as const) {
    test(`with ${what} is malformed, and resets its stream alone (RFC 9113 §8.1)`, () => {
      const { client, call } = requested();
      client.receive(bytes);
      assert.deepEqual(only(client.frames(), RST_STREAM), [[1, Http2ErrorCode.PROTOCOL_ERROR]]);
      assert.deepEqual([call.end?.by, call.end?.code], ['self', Http2ErrorCode.PROTOCOL_ERROR]);
      assert.deepEqual([call.status, client.isEnded], [undefined, false]);
    });
  }

  test('has interim responses up to the limit before it', () => {
    const { client, call } = requested();
    client.receive(...Array.from({ length: INTERIM_LIMIT }, () => status(103)));
    assert.deepEqual([call.end, call.status], [undefined, undefined]);
    client.receive(status(103));
    assert.equal(call.end?.code, Http2ErrorCode.ENHANCE_YOUR_CALM);
  });

  test('may end with its headers', () => {
    const { client, call } = requested();
    client.receive(status(204, END_STREAM));
    assert.deepEqual([call.status, call.stream.remoteEnded], [204, true]);
  });

  test('on a stream without a handler is no error', () => {
    const { client } = corePair();
    const stream = client.connection.request(REQUEST);
    client.receive(status(200), frame(HEADERS, END_HEADERS | END_STREAM, 1));
    assert.deepEqual([stream?.remoteEnded, client.isEnded], [true, false]);
  });
});

test('a server opens no streams: pushes are disabled (RFC 9113 §8.4)', () => {
  for (const [id, block] of [
    [2, REQUEST_BLOCK],
    [2, plainBlock([[':status', '200']])],
    // A stream that the client has not opened.
    [3, plainBlock([[':status', '200']])],
  ] as const) {
    const { client } = requested();
    client.receive(frame(HEADERS, END_HEADERS, id, block));
    assert.equal(client.errorName, 'PROTOCOL_ERROR');
  }
});

test('a client may enable pushes, a server may not (RFC 9113 §6.5.2)', () => {
  const server = started(settingsFrame([2, 1]), requestFrame(1));
  assert.deepEqual([server.isEnded, server.requests.length], [false, 1]);
  const { client } = corePair();
  client.receive(settingsFrame([2, 1]));
  assert.equal(client.errorName, 'PROTOCOL_ERROR');
});

test('the table of the encoder has at most the size that the peer sets (RFC 7541 §4.2)', () => {
  const core = started(settingsFrame([1, 0]), requestFrame(1));
  core.requests[0]?.stream.respond([...OK, { name: 'x', value: 'y' }], true);
  const [head] = core.frames();
  // A table size update to 0, status 200, and a literal that is not indexed.
  assert.equal(head?.payload.toString('hex').slice(0, 6), '208800');
});

test('settings of the peer are reported each time', () => {
  const core = started(settingsFrame([3, 1]), settingsFrame());
  assert.equal(core.settings, 3);
  core.receive(settingsFrame([4, 100]));
  assert.equal(core.settings, 4);
});

test('a request that has ended is readable at once, so that its reader finds the end', () => {
  const core = started(frame(HEADERS, END_HEADERS | END_STREAM, 1, REQUEST_BLOCK));
  const [request] = core.requests;
  assert.deepEqual([request?.stream.remoteEnded, request?.readable], [true, 1]);
  const [open] = started(requestFrame(1)).requests;
  assert.deepEqual([open?.stream.remoteEnded, open?.readable], [false, 0]);
});

describe('the windows of this side', () => {
  test('of a stream is opened for padding, which no reader takes (RFC 9113 §6.9.1)', () => {
    const core = new Core({ settings: { initialWindowSize: 400 } });
    core.rests = true;
    core.receive(CLIENT_START, SETTINGS_ACK, requestFrame(1));
    core.send();
    core.receive(frame(DATA, 0, 1, Buffer.alloc(200)));
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), []);
    core.receive(frame(DATA, PADDED, 1, Buffer.alloc(100, 99)));
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), [[1, 100]]);
  });

  test('of a stream that has read what is a share of a smaller window is opened with its ACK', () => {
    const core = new Core({ settings: { initialWindowSize: 1000 } });
    core.receive(CLIENT_START, SETTINGS_ACK, requestFrame(1));
    core.receive(frame(DATA, 0, 1, Buffer.alloc(200)));
    core.send();
    core.connection.changeSettings({ initialWindowSize: 400 }, () => undefined);
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), []);
    core.receive(SETTINGS_ACK);
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), [[1, 200]]);
  });

  test('of the connection may be used up to its last byte, and is opened again from half on', () => {
    const size = 65_535;
    const core = new Core({
      connectionWindow: size,
      settings: { initialWindowSize: 1 << 20 },
    });
    core.rests = true;
    // Nothing to open at the beginning: an increment of 0 would be an error (RFC 9113 §6.9).
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), []);
    core.receive(CLIENT_START, SETTINGS_ACK, requestFrame(1));
    const data = (length: number): Buffer => frame(DATA, 0, 1, Buffer.alloc(length));
    core.receive(data(16_384), data(16_383));
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), []);
    core.receive(data(1));
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), [[0, 32_768]]);
    const even = new Core({ connectionWindow: 100, settings: { initialWindowSize: 1 << 20 } });
    even.rests = true;
    even.receive(CLIENT_START, SETTINGS_ACK, requestFrame(1));
    even.send();
    // 65,535 bytes, the initial window, are the peer's until it has used them.
    even.receive(data(16_384), data(16_384), data(16_384), data(16_333));
    assert.deepEqual(only(even.frames(), WINDOW_UPDATE), [[0, 50]]);
    even.receive(data(100));
    assert.deepEqual([only(even.frames(), WINDOW_UPDATE), even.isEnded], [[[0, 100]], false]);
    even.receive(data(101));
    assert.equal(even.errorName, 'FLOW_CONTROL_ERROR');
  });
});

test('padded DATA in flight for a stream that was reset is ignored (RFC 9113 §5.1)', () => {
  const core = started(requestFrame(1));
  core.requests[0]?.stream.reset(Http2ErrorCode.CANCEL);
  core.send();
  core.receive(frame(DATA, PADDED, 1, Buffer.from([2, 0x61, 0, 0])), requestFrame(3));
  assert.deepEqual([core.isEnded, core.frames(), core.requests.length], [false, [], 2]);
});

test('a window update of a stream that is closed is ignored (RFC 9113 §5.1)', () => {
  const core = started(requestFrame(1));
  core.requests[0]?.stream.reset(Http2ErrorCode.CANCEL);
  core.send();
  core.receive(frame(WINDOW_UPDATE, 0, 1, uint32(5)), requestFrame(3));
  assert.deepEqual([core.isEnded, core.frames(), core.requests.length], [false, [], 2]);
});

test('streams that are refused, fail or are reset are work of a turn, as those that are opened', () => {
  const most = UNPROVEN_WORK_A_TURN / STREAM_WORK;
  const ids = Array.from({ length: 4 * most }, (_, at) => 2 * at + 1);
  const turnsOf = (core: Core, frames: readonly Buffer[]): number => {
    core.turns = 0;
    core.receive(...frames);
    assert.equal(core.isEnded, false);
    return core.turns;
  };
  const refusing = new Core({ settings: { maxConcurrentStreams: 0 } });
  refusing.receive(CLIENT_START);
  assert.equal(
    turnsOf(
      refusing,
      ids.map((id) => requestFrame(id)),
    ),
    4,
  );
  const resetting = started(...ids.map((id) => requestFrame(id)));
  const resets = ids.map((id) => frame(RST_STREAM, 0, id, uint32(8)));
  assert.equal(turnsOf(resetting, resets), 4);
});
