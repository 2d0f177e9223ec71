import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HttpField } from '../../../../src/http/fields/field.ts';
import { Http2ErrorCode } from '../../../../src/http/http2/errors.ts';
import { Flag, FrameType } from '../../../../src/http/http2/frames.ts';
import {
  FRAME_LIMIT,
  SEND_QUEUE_BYTES,
  UNACKNOWLEDGED_LIMIT,
  WINDOW_LIMIT,
} from '../../../../src/http/http2/limits.ts';
import { Core, corePair, exchange, REQUEST } from '../../../support/http2/core.ts';
import {
  CLIENT_START,
  frame,
  type ParsedFrame,
  requestFrame,
  SETTINGS_ACK,
  settingsFrame,
  uint32,
} from '../../../support/http2/raw-frames.ts';

const { DATA, HEADERS, CONTINUATION, GOAWAY, SETTINGS, WINDOW_UPDATE } = FrameType;
const OK: readonly HttpField[] = [{ name: ':status', value: '200' }];
const INITIAL_WINDOW = 65_535;

function server(...frames: readonly Uint8Array[]): Core {
  const core = new Core();
  core.receive(CLIENT_START, SETTINGS_ACK, ...frames);
  core.send();
  return core;
}

const widen = (streamId: number, increment: number): Buffer =>
  frame(WINDOW_UPDATE, 0, streamId, uint32(increment));

/** Bytes of DATA by stream. */
function dataOf(frames: readonly ParsedFrame[]): Readonly<Record<number, number>> {
  const sums: Record<number, number> = {};
  for (const { type, streamId, payload } of frames) {
    if (type === DATA) sums[streamId] = (sums[streamId] ?? 0) + payload.length;
  }
  return sums;
}

describe('the windows of the peer (RFC 9113 §6.9)', () => {
  test('of the connection is shared by all streams, and opened by its updates', () => {
    const core = server(settingsFrame([4, 1 << 20]), requestFrame(1), requestFrame(3));
    for (const { stream } of core.requests) stream.push(Buffer.alloc(60_000), false);
    core.requests[0]?.stream.flush();
    core.requests[1]?.stream.flush();
    assert.deepEqual(dataOf(core.frames()), { 1: 60_000, 3: INITIAL_WINDOW - 60_000 });
    assert.deepEqual(core.frames(), []);
    core.receive(widen(0, 10));
    assert.deepEqual(dataOf(core.frames()), { 3: 10 });
    core.receive(widen(1, 10), widen(3, 10));
    assert.deepEqual(core.frames(), []);
    core.receive(widen(0, 100_000));
    assert.deepEqual(dataOf(core.frames()), { 3: 120_000 - INITIAL_WINDOW - 10 });
  });

  test('reach 2^31 - 1 and no more, for a stream and for the connection (RFC 9113 §6.9.1)', () => {
    const room = WINDOW_LIMIT - INITIAL_WINDOW;
    const whole = server(widen(0, room), requestFrame(1), widen(1, room));
    assert.deepEqual([whole.isEnded, whole.resetCodes], [false, [undefined]]);
    whole.receive(widen(1, 1));
    assert.deepEqual(whole.resetCodes, [Http2ErrorCode.FLOW_CONTROL_ERROR]);
    whole.receive(widen(0, 1));
    assert.equal(whole.errorName, 'FLOW_CONTROL_ERROR');
  });

  test('of all streams follow INITIAL_WINDOW_SIZE up to 2^31 - 1 (RFC 9113 §6.9.2)', () => {
    const wide = (credit: number): Core =>
      server(requestFrame(1), requestFrame(3), widen(1, credit));
    const core = wide(1000);
    core.receive(settingsFrame([4, WINDOW_LIMIT - 1000]), settingsFrame([4, 0]));
    assert.equal(core.isEnded, false);
    core.receive(settingsFrame([4, WINDOW_LIMIT - 999]));
    assert.equal(core.errorName, 'FLOW_CONTROL_ERROR');
  });

  test('that were used up and grow again send what waits', () => {
    const core = server(settingsFrame([4, 10]), requestFrame(1), requestFrame(3));
    for (const request of core.requests) request.write(Buffer.alloc(25));
    assert.deepEqual(dataOf(core.frames()), { 1: 10, 3: 10 });
    core.receive(settingsFrame([4, 15]));
    assert.deepEqual(dataOf(core.frames()), { 1: 5, 3: 5 });
    // To below what was sent, and up to just that.
    core.receive(settingsFrame([4, 3]), settingsFrame([4, 15]));
    assert.deepEqual(dataOf(core.frames()), {});
    core.receive(widen(3, 2));
    assert.deepEqual(dataOf(core.frames()), { 3: 2 });
    core.receive(settingsFrame([4, 1000]));
    assert.deepEqual(dataOf(core.frames()), { 1: 10, 3: 8 });
  });

  test('that are taken while data waits for the link hold it back (RFC 9113 §6.9.2)', () => {
    const core = server(settingsFrame([4, 30]), requestFrame(1), requestFrame(3));
    const [first, second] = core.requests;
    first?.write(Buffer.alloc(20));
    core.send();
    core.connection.isBlocked = true;
    first?.write(Buffer.alloc(10));
    second?.write(Buffer.alloc(10));
    // The first has sent more than it may now, the second nothing yet.
    core.receive(settingsFrame([4, 0]));
    core.send();
    core.connection.isBlocked = false;
    assert.deepEqual(core.frames(), []);
    core.receive(settingsFrame([4, 25]));
    assert.deepEqual(dataOf(core.frames()), { 1: 5, 3: 10 });
  });

  test('do not hold back an end without data', () => {
    const core = server(settingsFrame([4, 0]), requestFrame(1));
    core.requests[0]?.stream.respond(OK, false);
    core.requests[0]?.stream.end();
    const [, end] = core.frames();
    assert.deepEqual([end?.type, end?.flags, end?.payload.length], [DATA, Flag.END_STREAM, 0]);
  });

  test('of a stream that was reset are of no consequence for what other streams send', () => {
    const core = server(settingsFrame([4, 10]), requestFrame(1), requestFrame(3));
    for (const request of core.requests) request.write(Buffer.alloc(20));
    core.requests[0]?.stream.reset(Http2ErrorCode.CANCEL);
    core.send();
    core.receive(settingsFrame([4, 20]));
    assert.deepEqual(dataOf(core.frames()), { 3: 10 });
  });
});

test('nothing that waits for the link is sent on a stream that was reset meanwhile (RFC 9113 §5.1)', () => {
  const core = server(requestFrame(1), requestFrame(3), requestFrame(5));
  core.connection.isBlocked = true;
  const [first, second, third] = core.requests;
  for (const request of [first, second, third]) request?.write('data');
  second?.stream.end();
  first?.stream.reset(Http2ErrorCode.CANCEL);
  core.receive(frame(FrameType.RST_STREAM, 0, 3, uint32(8)));
  assert.deepEqual([first?.stream.queued, second?.stream.queued], [0, 0]);
  core.send();
  core.connection.isBlocked = false;
  assert.deepEqual(
    core.frames().map(({ type, streamId }) => [type, streamId]),
    [[DATA, 5]],
  );
});

test('no window is opened of a stream that the peer has ended', () => {
  const core = new Core({ settings: { initialWindowSize: 100 } });
  core.rests = true;
  core.receive(CLIENT_START, SETTINGS_ACK, requestFrame(1));
  core.receive(frame(DATA, Flag.END_STREAM, 1, Buffer.alloc(90)));
  core.send();
  core.requests[0]?.read(90);
  assert.deepEqual(core.frames(), []);
});

describe('a writer', () => {
  test('is called when its queue is below the bound again, not at it', () => {
    const core = server(settingsFrame([4, 0]), requestFrame(1));
    const [request] = core.requests;
    assert.equal(request?.write(Buffer.alloc(SEND_QUEUE_BYTES + 5)), false);
    core.receive(widen(1, 5));
    assert.equal(request.writable, 0);
    core.receive(widen(1, 1));
    assert.equal(request.writable, 1);
    core.receive(widen(1, 1));
    assert.equal(request.writable, 1);
  });

  test('of a stream that has ended is refused, and its data is dropped', () => {
    const core = server(requestFrame(1));
    const [request] = core.requests;
    request?.stream.end();
    core.send();
    assert.equal(request?.write('late'), undefined);
    assert.deepEqual([request?.stream.queued, core.frames()], [0, []]);
  });
});

describe('a header list that is sent', () => {
  test('is divided into HEADERS and CONTINUATION frames, of which the last ends it', () => {
    for (const isLast of [false, true]) {
      const core = server(requestFrame(1));
      const long = { name: 'x', value: '~'.repeat(2 * FRAME_LIMIT) };
      core.requests[0]?.stream.respond([...OK, long], isLast);
      const frames = core.frames();
      assert.deepEqual(
        frames.map(({ type, flags, streamId }) => [type, flags, streamId]),
        [
          [HEADERS, isLast ? Flag.END_STREAM : 0, 1],
          [CONTINUATION, 0, 1],
          [CONTINUATION, Flag.END_HEADERS, 1],
        ],
      );
      assert.deepEqual(
        frames.slice(0, 2).map(({ payload }) => payload.length),
        [FRAME_LIMIT, FRAME_LIMIT],
      );
    }
  });

  test('of a request may end its stream', () => {
    const { client, server: other } = corePair();
    const call = client.request(REQUEST, true);
    assert.equal(client.frames()[0]?.flags, Flag.END_HEADERS | Flag.END_STREAM);
    assert.deepEqual([call.stream.localEnded, call.stream.isWritable], [true, false]);
    other.connection.lost(undefined);
  });
});

describe('the end of a connection', () => {
  const goAwayOf = (frames: readonly ParsedFrame[]) =>
    frames
      .filter(({ type }) => type === GOAWAY)
      .map(({ payload }) => [
        payload.readUInt32BE(0),
        payload.readUInt32BE(4),
        String(payload.subarray(8)),
      ]);

  test('for a violation is announced with its code, its reason and the last stream', () => {
    const core = server(requestFrame(1), requestFrame(5));
    core.receive(frame(FrameType.PING, 0, 0, Buffer.alloc(7)));
    assert.deepEqual(goAwayOf(core.frames()), [
      [5, Http2ErrorCode.FRAME_SIZE_ERROR, 'PING has a wrong length'],
    ]);
    assert.equal(core.connection.state, 'closed');
    core.receive(requestFrame(7));
    assert.deepEqual([core.requests.length, core.frames()], [2, []]);
  });

  test('without one is announced once, and open streams go on', () => {
    const core = server(requestFrame(1));
    core.connection.goAway();
    core.connection.goAway();
    assert.deepEqual(goAwayOf(core.frames()), [[1, Http2ErrorCode.NO_ERROR, '']]);
    assert.deepEqual([core.goAways.length, core.connection.state], [1, 'going']);
    core.receive(requestFrame(3));
    assert.deepEqual(
      core.frames().map(({ payload }) => payload.readUInt32BE()),
      [Http2ErrorCode.REFUSED_STREAM],
    );
    core.connection.fail(undefined);
    // It was announced already.
    assert.deepEqual(goAwayOf(core.frames()), []);
    assert.deepEqual([core.isEnded, core.requests[0]?.end?.by], [true, 'connection']);
  });

  test('by this side is announced with NO_ERROR', () => {
    const core = server(requestFrame(1));
    core.connection.fail(new Error('internal'));
    assert.deepEqual(goAwayOf(core.frames()), [[1, Http2ErrorCode.NO_ERROR, '']]);
    core.connection.fail(undefined);
    core.connection.goAway();
    assert.deepEqual(core.frames(), []);
  });

  test('leaves nothing to ping, to change or to request', () => {
    const { client, server: other } = corePair();
    client.connection.lost(undefined);
    assert.equal(
      client.connection.ping(() => undefined),
      false,
    );
    assert.equal(
      client.connection.changeSettings({}, () => undefined),
      false,
    );
    assert.equal(client.connection.request(REQUEST), undefined);
    assert.deepEqual(client.frames(), []);
    other.connection.lost(undefined);
  });

  test('that a client announces does not refuse its own streams', () => {
    const core = server(requestFrame(1));
    core.receive(frame(GOAWAY, 0, 0, Buffer.alloc(8)));
    assert.deepEqual([core.goAways.length, core.connection.goAwayReason], [1, undefined]);
    assert.deepEqual([core.requests[0]?.end, core.connection.state], [undefined, 'going']);
  });
});

describe('changes of the settings of this side (RFC 9113 §6.5.3)', () => {
  test('that are not acknowledged are limited, and so are PINGs', () => {
    const core = server();
    for (let count = 0; count < UNACKNOWLEDGED_LIMIT; count++) {
      assert.equal(
        core.connection.changeSettings({}, () => undefined),
        true,
      );
      assert.equal(
        core.connection.ping(() => undefined),
        true,
      );
    }
    assert.equal(core.frames().length, 2 * UNACKNOWLEDGED_LIMIT);
    assert.equal(
      core.connection.changeSettings({}, () => undefined),
      false,
    );
    assert.equal(
      core.connection.ping(() => undefined),
      false,
    );
    assert.deepEqual(core.frames(), []);
    core.receive(SETTINGS_ACK);
    assert.equal(
      core.connection.changeSettings({}, () => undefined),
      true,
    );
  });

  test('are acknowledged in their order', () => {
    const core = server();
    const order: number[] = [];
    for (const number of [1, 2, 3]) core.connection.changeSettings({}, () => order.push(number));
    core.receive(SETTINGS_ACK);
    assert.deepEqual(order, [1]);
    core.receive(SETTINGS_ACK, SETTINGS_ACK);
    assert.deepEqual(order, [1, 2, 3]);
  });

  test('allow more streams at once, and fewer with the acknowledgement', () => {
    const core = new Core({ settings: { maxConcurrentStreams: 1 } });
    core.receive(CLIENT_START, SETTINGS_ACK);
    let id = 1;
    /** Whether another request is accepted. */
    const accepts = (): boolean => {
      const before = core.requests.length;
      core.receive(requestFrame(id));
      id += 2;
      return core.requests.length > before;
    };
    const change = (maxConcurrentStreams: number): void => {
      core.connection.changeSettings({ maxConcurrentStreams }, () => undefined);
    };
    assert.deepEqual([accepts(), accepts()], [true, false]);
    change(2);
    assert.deepEqual([accepts(), accepts()], [true, false]);
    // Down, and up to 3: the larger one is in effect until the last is acknowledged.
    change(1);
    change(3);
    assert.deepEqual([accepts(), accepts()], [true, false]);
    core.receive(SETTINGS_ACK, SETTINGS_ACK);
    core.requests[0]?.stream.reset(Http2ErrorCode.CANCEL);
    assert.deepEqual([accepts(), accepts()], [true, false]);
    change(1);
    core.requests[1]?.stream.reset(Http2ErrorCode.CANCEL);
    assert.equal(accepts(), true);
    core.receive(SETTINGS_ACK, SETTINGS_ACK);
    core.requests[2]?.stream.reset(Http2ErrorCode.CANCEL);
    assert.equal(accepts(), false);
  });

  test('keep the larger of the windows that are announced until each is acknowledged', () => {
    const core = new Core({ settings: { initialWindowSize: 100 } });
    core.rests = true;
    core.receive(CLIENT_START, SETTINGS_ACK, requestFrame(1), requestFrame(3), requestFrame(5));
    core.connection.changeSettings({ initialWindowSize: 50 }, () => undefined);
    core.connection.changeSettings({ initialWindowSize: 200 }, () => undefined);
    const data = (streamId: number, length: number): Buffer =>
      frame(DATA, 0, streamId, Buffer.alloc(length));
    core.receive(data(1, 200), SETTINGS_ACK, data(3, 200), SETTINGS_ACK, data(5, 201));
    assert.deepEqual(core.resetCodes, [undefined, undefined, Http2ErrorCode.FLOW_CONTROL_ERROR]);
  });

  test('are sent as SETTINGS, each in its frame', () => {
    const core = server();
    core.connection.changeSettings({ maxConcurrentStreams: 7 }, () => undefined);
    core.connection.changeSettings({ initialWindowSize: 8 }, () => undefined);
    assert.deepEqual(
      core.frames().map(({ type, flags, payload }) => [type, flags, payload.toString('hex')]),
      [
        [SETTINGS, 0, '000300000007'],
        [SETTINGS, 0, '000400000008'],
      ],
    );
  });
});

test('a server that leaves streams behind with GOAWAY refuses those above its last, each once', () => {
  const { client, server: other } = corePair();
  const calls = Array.from({ length: 4 }, () => client.request());
  const goAway = (last: number): Buffer =>
    frame(GOAWAY, 0, 0, Buffer.concat([uint32(last), uint32(0)]));
  client.receive(goAway(5));
  const refused = (): (number | undefined)[] => calls.map(({ end }) => end?.code);
  assert.deepEqual(refused(), [undefined, undefined, undefined, Http2ErrorCode.REFUSED_STREAM]);
  calls[2]?.stream.reset(Http2ErrorCode.CANCEL);
  client.receive(goAway(1));
  // The third had ended before: it is not reported again.
  assert.deepEqual(refused(), [undefined, 7, undefined, 7]);
  assert.deepEqual([client.goAways.length, client.connection.streamCount], [2, 1]);
  exchange(client, other);
});
