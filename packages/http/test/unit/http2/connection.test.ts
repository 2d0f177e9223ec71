import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HttpField } from '../../../src/fields/field.ts';
import { Http2ErrorCode } from '../../../src/http2/errors.ts';
import { FrameBatch, recycleBatch, Flag, FrameType } from '../../../src/http2/frames.ts';
import { FRAME_LIMIT, SEND_QUEUE_BYTES, UNACKNOWLEDGED_LIMIT } from '../../../src/limits.ts';
import { Received, SendQueue } from '../../../src/http2/stream-buffers.ts';
import { encodeSettings } from '../../../src/http2/settings.ts';
import { Http2Stream, type Http2StreamHost } from '../../../src/http2/stream.ts';
import { Core, corePair, REQUEST } from '../../../../../test/support/http2/core.ts';
import {
  CLIENT_START,
  frame,
  type ParsedFrame,
  requestFrame,
  SETTINGS_ACK,
  settingsFrame,
  uint32,
} from '../../../../../test/support/http2/raw-frames.ts';

// What the model and the tables of frames do not show: in which frames, when, and at which bound.

const { DATA, HEADERS, CONTINUATION, GOAWAY, PING, RST_STREAM, WINDOW_UPDATE } = FrameType;
const OK: readonly HttpField[] = [{ name: ':status', value: '200' }];
const done = (): void => undefined;
const data = (streamId: number, length: number, flags = 0): Buffer =>
  frame(DATA, flags, streamId, Buffer.alloc(length));
const widen = (streamId: number, increment: number): Buffer =>
  frame(WINDOW_UPDATE, 0, streamId, uint32(increment));
const only = (frames: readonly ParsedFrame[], type: number): (readonly [number, number])[] =>
  frames
    .filter((each) => each.type === type)
    .map(({ streamId, payload }) => [streamId, payload.readUInt32BE()]);

/** A server behind its handshake, whose readers rest. */
function server(initialWindowSize: number | undefined, ...frames: readonly Uint8Array[]): Core {
  const core = new Core({ settings: initialWindowSize === undefined ? {} : { initialWindowSize } });
  core.rests = true;
  core.receive(CLIENT_START, SETTINGS_ACK, ...frames);
  core.send();
  return core;
}

describe('what is sent', () => {
  test('has END_STREAM with the last DATA frame of a stream that was ended before', () => {
    const core = server(undefined, settingsFrame([4, 4]), requestFrame(1));
    const [request] = core.requests;
    request?.write('12345678');
    request?.stream.end();
    assert.deepEqual(
      core.frames().map(({ payload, flags }) => [String(payload), flags]),
      [['1234', 0]],
    );
    core.receive(widen(1, 100));
    assert.deepEqual(
      core.frames().map(({ payload, flags }) => [String(payload), flags]),
      [['5678', Flag.END_STREAM]],
    );
    // Once, whatever windows are opened behind it.
    core.receive(widen(1, 100), settingsFrame([4, 70_000]));
    assert.deepEqual(only(core.frames(), DATA), []);
  });

  test('is an end at once where no window is open, and there is no data', () => {
    const core = server(undefined, settingsFrame([4, 0]), requestFrame(1));
    core.requests[0]?.stream.respond(OK, false);
    core.requests[0]?.stream.end();
    const [, end] = core.frames();
    assert.deepEqual([end?.type, end?.flags, end?.payload.length], [DATA, Flag.END_STREAM, 0]);
  });

  test('goes on with the first byte that a larger INITIAL_WINDOW_SIZE allows', () => {
    const core = server(undefined, settingsFrame([4, 0]), requestFrame(1));
    core.requests[0]?.write('12');
    core.receive(settingsFrame([4, 1]));
    const sent = core.frames().filter(({ type }) => type === DATA);
    assert.deepEqual(
      sent.map(({ payload }) => String(payload)),
      ['1'],
    );
  });

  test('is a frame of each stream in turn', () => {
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

  test('is held back by windows that are taken while it waits for the link (RFC 9113 §6.9.2)', () => {
    const core = server(undefined, settingsFrame([4, 30]), requestFrame(1), requestFrame(3));
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
    const sizes = core.frames().filter(({ type }) => type === DATA);
    assert.deepEqual(
      sizes.map(({ streamId, payload }) => [streamId, payload.length]),
      [
        [1, 5],
        [3, 10],
      ],
    );
  });

  test('is a header list in HEADERS and CONTINUATION frames, of which the last ends it', () => {
    for (const isLast of [false, true]) {
      const core = server(undefined, requestFrame(1));
      const long = { name: 'x', value: '~'.repeat(2 * FRAME_LIMIT) };
      core.requests[0]?.stream.respond([...OK, long], isLast);
      assert.deepEqual(
        core
          .frames()
          .map(({ type, flags, payload }) => [type, flags, payload.length >= FRAME_LIMIT]),
        [
          [HEADERS, isLast ? Flag.END_STREAM : 0, true],
          [CONTINUATION, 0, true],
          [CONTINUATION, Flag.END_HEADERS, false],
        ],
      );
    }
  });

  test('is not indexed where the peer allows no table (RFC 7541 §4.2)', () => {
    const core = server(undefined, settingsFrame([1, 0]), requestFrame(1));
    core.requests[0]?.stream.respond([...OK, { name: 'x', value: 'y' }], true);
    // A table size update to 0, status 200, and a literal.
    assert.equal(core.frames()[0]?.payload.toString('hex').slice(0, 6), '208800');
  });

  test('are settings with an identifier of 16 bits and a value of 32 bits each (RFC 9113 §6.5.1)', () => {
    const all = { headerTableSize: 1, enablePush: true, maxConcurrentStreams: 3 };
    const more = { initialWindowSize: 0x0405_0607, maxFrameSize: 0x8000, maxHeaderListSize: 6 };
    assert.equal(
      Buffer.from(encodeSettings({ ...all, ...more })).toString('hex'),
      '000100000001000200000001000300000003000404050607000500008000000600000006',
    );
    assert.equal(
      Buffer.from(encodeSettings({ enablePush: false })).toString('hex'),
      '000200000000',
    );
  });

  test('is a PING back with its data, and one of this side is acknowledged by its own data alone', () => {
    const core = server(undefined);
    let acknowledged = 0;
    core.connection.ping(() => acknowledged++);
    const [ping] = core.frames();
    assert.ok(ping);
    core.receive(frame(PING, Flag.ACK, 0, Buffer.alloc(8, 9)));
    assert.equal(acknowledged, 0);
    core.receive(frame(PING, Flag.ACK, 0, ping.payload), frame(PING, Flag.ACK, 0, ping.payload));
    assert.equal(acknowledged, 1);
    core.receive(frame(PING, 0, 0, Buffer.from('12345678')));
    const [ack] = core.frames();
    assert.deepEqual([ack?.type, ack?.flags, String(ack?.payload)], [PING, Flag.ACK, '12345678']);
  });
});

describe('a writer', () => {
  test('waits above the bound of its queue, and is called when it is below again, not at it', () => {
    const core = server(undefined, settingsFrame([4, 0]), requestFrame(1));
    const [request] = core.requests;
    assert.equal(request?.write(Buffer.alloc(SEND_QUEUE_BYTES - 1)), true);
    assert.equal(request.write(Buffer.alloc(1)), false);
    request.write(Buffer.alloc(5));
    core.receive(widen(1, 5));
    assert.equal(request.writable, 0);
    core.receive(widen(1, 1));
    core.receive(widen(1, 1));
    assert.equal(request.writable, 1);
  });

  test('that goes on after its end loses nothing of what it had written before', () => {
    const core = server(undefined, requestFrame(1));
    const [request] = core.requests;
    core.connection.isBlocked = true;
    request?.write('');
    request?.write('all');
    request?.stream.end();
    request?.stream.end([{ name: 'a', value: 'b' }]);
    assert.equal(request?.write('late'), undefined);
    core.connection.isBlocked = false;
    const [sent, ...rest] = core.frames();
    assert.deepEqual([String(sent?.payload), sent?.flags, rest], ['all', Flag.END_STREAM, []]);
  });

  test('whose stream was reset sends no response, and gives up what it owns', () => {
    const core = server(undefined, requestFrame(1));
    const stream = core.requests[0]?.stream;
    stream?.reset(Http2ErrorCode.CANCEL);
    stream?.respond(OK, true);
    assert.deepEqual(
      core.frames().map(({ type }) => type),
      [RST_STREAM],
    );
    const [owned, other] = [new Uint8Array(16_384), new Uint8Array(16_384)];
    stream?.push(owned, true);
    stream?.push(other, false);
    assert.deepEqual([owned.length, other.length], [0, 16_384]);
  });

  test('gives up its memory once all of a chunk was sent or dropped, if it is owned', () => {
    const LARGE = 16_384; // smaller chunks are left to the garbage collector
    for (const isOwned of [true, false]) {
      const [sent, dropped] = [new Uint8Array(LARGE), new Uint8Array(LARGE)];
      const queue = new SendQueue();
      queue.push(sent, isOwned);
      queue.push(dropped, isOwned);
      queue.copyTo(new Uint8Array(LARGE), 0, LARGE - 1);
      assert.equal(sent.length, LARGE);
      queue.copyTo(new Uint8Array(LARGE), 0, 1);
      queue.clear();
      const left = isOwned ? 0 : LARGE;
      assert.deepEqual([sent.length, dropped.length, queue.length], [left, left, 0]);
    }
  });
});

describe('a reader', () => {
  test('that rests has its window opened from a quarter of it on', () => {
    const core = server(1000, requestFrame(1), data(1, 1000));
    const [request] = core.requests;
    assert.equal(request?.stream.readable, 1000);
    request.read(249);
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), []);
    request.read(1);
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), [[1, 250]]);
  });

  test('has it opened for padding, which it does not take (RFC 9113 §6.9.1)', () => {
    const core = server(400, requestFrame(1), data(1, 200));
    core.receive(frame(DATA, Flag.PADDED, 1, Buffer.alloc(100, 99)));
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), [[1, 100]]);
  });

  test('has it opened with the ACK of a smaller one, of which what it has read is a share', () => {
    const core = server(1000, requestFrame(1));
    core.receive(data(1, 200));
    core.requests[0]?.read(200);
    core.connection.changeSettings({ initialWindowSize: 400 }, done);
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), []);
    core.receive(SETTINGS_ACK);
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), [[1, 200]]);
  });

  test('is called at once for a request that has ended, and not for one that has not', () => {
    const [ended] = server(undefined, frame(HEADERS, 5, 1, requestFrame(1).subarray(9))).requests;
    assert.deepEqual([ended?.stream.remoteEnded, ended?.readable], [true, 1]);
    const [open] = server(undefined, requestFrame(1)).requests;
    assert.deepEqual([open?.stream.remoteEnded, open?.readable], [false, 0]);
  });

  test('finds views of the chunk, until what it leaves is copied into buffers that double up to 16 KiB', () => {
    const received = new Received();
    const first = Buffer.alloc(10);
    received.push(first);
    assert.equal(received.take(10)[0], first);
    for (const piece of [first, first]) received.push(piece);
    const lengths = [14, 9].map((limit) => received.take(limit).map(({ length }) => length));
    assert.deepEqual(lengths, [[10, 4], [6]]);
    for (let at = 0; at < 60_000; at++) {
      received.push(Buffer.alloc(1));
      received.settle();
    }
    // Exactly as much as is left in the buffer of the last piece.
    const sizes = received.take(60_000).map(({ buffer }) => buffer.byteLength);
    assert.deepEqual(sizes, [256, 512, 1024, 2048, 4096, 8192, 16_384, 16_384, 16_384]);
    received.push(Buffer.alloc(20_000));
    received.settle();
    assert.equal(received.take(Infinity)[0]?.buffer.byteLength, 20_000);
  });
});

describe('settings of this side (RFC 9113 §6.5.3)', () => {
  test('that are not acknowledged are limited, and so are PINGs', () => {
    const { connection } = server(undefined);
    for (let count = 0; count < UNACKNOWLEDGED_LIMIT; count++) {
      assert.ok(connection.changeSettings({}, done) && connection.ping(done));
    }
    assert.equal(connection.changeSettings({}, done) || connection.ping(done), false);
    connection.receive(SETTINGS_ACK, 0);
    assert.equal(connection.changeSettings({}, done), true);
  });

  test('allow more streams at once, and fewer with the acknowledgement', () => {
    const core = new Core({ settings: { maxConcurrentStreams: 1 } });
    core.receive(CLIENT_START);
    let id = -1;
    /** Whether another request is accepted. */
    const accepts = (): boolean => {
      const before = core.requests.length;
      core.receive(requestFrame((id += 2)));
      return core.requests.length > before;
    };
    const change = (maxConcurrentStreams: number): void =>
      void core.connection.changeSettings({ maxConcurrentStreams }, done);
    const end = (at: number): void => core.requests[at]?.stream.reset(Http2ErrorCode.CANCEL);
    assert.deepEqual([accepts(), accepts()], [true, false]);
    core.receive(SETTINGS_ACK);
    // A change of other settings leaves the limit as it is.
    core.connection.changeSettings({ initialWindowSize: 70_000 }, done);
    assert.equal(accepts(), false);
    core.receive(SETTINGS_ACK);
    assert.equal(accepts(), false);
    change(2);
    assert.deepEqual([accepts(), accepts()], [true, false]);
    assert.equal(only(core.frames(), RST_STREAM).at(-1)?.[1], Http2ErrorCode.REFUSED_STREAM);
    // Down, and up to 3: the larger one is in effect until the last is acknowledged.
    change(1);
    change(3);
    assert.deepEqual([accepts(), accepts()], [true, false]);
    core.receive(SETTINGS_ACK, SETTINGS_ACK);
    end(0);
    assert.deepEqual([accepts(), accepts()], [true, false]);
    change(1);
    end(1);
    assert.equal(accepts(), true);
    core.receive(SETTINGS_ACK, SETTINGS_ACK);
    end(2);
    assert.equal(accepts(), false);
  });

  test('keep the larger of the windows that are announced until each is acknowledged', () => {
    const core = server(100, requestFrame(1), requestFrame(3), requestFrame(5), requestFrame(7));
    for (const initialWindowSize of [50, 200, 60]) {
      core.connection.changeSettings({ initialWindowSize }, done);
    }
    core.receive(data(1, 200), SETTINGS_ACK, data(3, 200), SETTINGS_ACK, data(5, 201));
    core.receive(SETTINGS_ACK, data(7, 61));
    const { FLOW_CONTROL_ERROR } = Http2ErrorCode;
    const expected = [undefined, undefined, FLOW_CONTROL_ERROR, FLOW_CONTROL_ERROR];
    assert.deepEqual(core.resetCodes, expected);
    // The first has used more than it has now; it is granted that once it is taken.
    core.send();
    core.requests[0]?.read(200);
    assert.deepEqual(only(core.frames(), WINDOW_UPDATE), [[1, 200]]);
    // While its window is negative a stream may end (RFC 9113 §6.9.1).
    core.receive(data(3, 0, Flag.END_STREAM));
    assert.deepEqual(
      [core.requests[1]?.stream.remoteEnded, core.requests[1]?.end],
      [true, undefined],
    );
  });
});

describe('the end of a connection', () => {
  const goAwayOf = (core: Core) =>
    core
      .frames()
      .filter(({ type }) => type === GOAWAY)
      .map(({ payload }) => {
        const text = payload.subarray(8);
        return [
          payload.readUInt32BE(0),
          payload.readUInt32BE(4),
          ...(text.length > 0 ? [String(text)] : []),
        ];
      });

  test('without a violation is announced once, and open streams go on', () => {
    const core = server(undefined, requestFrame(1));
    core.connection.goAway();
    core.connection.goAway();
    assert.deepEqual(goAwayOf(core), [[1, Http2ErrorCode.NO_ERROR]]);
    assert.deepEqual([core.goAways.length, core.connection.state], [1, 'going']);
    core.receive(requestFrame(3));
    assert.deepEqual(only(core.frames(), RST_STREAM), [[3, Http2ErrorCode.REFUSED_STREAM]]);
    core.connection.fail(undefined);
    assert.deepEqual(goAwayOf(core), []);
    assert.deepEqual([core.isEnded, core.requests[0]?.end?.by], [true, 'connection']);
  });

  test('by this side is announced with NO_ERROR, by a violation with its code; nothing follows', () => {
    const core = server(undefined, requestFrame(1));
    core.connection.fail(new Error('internal'));
    assert.deepEqual(goAwayOf(core), [[1, Http2ErrorCode.NO_ERROR]]);
    const broken = server(undefined, requestFrame(1), requestFrame(5));
    broken.receive(frame(PING, 0, 0, Buffer.alloc(7)));
    assert.deepEqual(goAwayOf(broken), [
      [5, Http2ErrorCode.FRAME_SIZE_ERROR, 'PING has a wrong length'],
    ]);
    for (const over of [core, broken]) {
      const { connection, requests } = over;
      connection.fail(undefined);
      connection.goAway();
      const before = requests.length;
      over.receive(requestFrame(7));
      assert.deepEqual([connection.state, requests.length, over.frames()], ['closed', before, []]);
      assert.equal(connection.ping(done) || connection.changeSettings({}, done), false);
    }
  });

  test('ends every stream, for its reason, and takes no requests', () => {
    const { client } = corePair();
    const call = client.request();
    const cause = new Error('lost');
    client.connection.lost(cause);
    assert.deepEqual(call.end, { by: 'connection', code: Http2ErrorCode.CANCEL, cause });
    assert.ok(client.isEnded && call.stream.isClosed);
    assert.equal(call.write('x'), undefined);
    assert.equal(client.connection.request(REQUEST), undefined);
    client.connection.lost(undefined);
    assert.equal(client.cause, cause);
  });

  test('does not end a stream that was reset meanwhile', () => {
    const { client } = corePair();
    const [first, second] = [client.request(), client.request()];
    first.onAbort = () => second.stream.reset(Http2ErrorCode.CANCEL);
    client.connection.lost(undefined);
    assert.ok(second.stream.isClosed);
    assert.equal(second.end, undefined);
  });

  test('that a server announces refuses the streams above its last, each once', () => {
    const { client } = corePair();
    const calls = Array.from({ length: 4 }, () => client.request());
    const goAway = (last: number, code = 0, why = ''): Buffer =>
      frame(GOAWAY, 0, 0, Buffer.concat([uint32(last), uint32(code), Buffer.from(why)]));
    client.receive(goAway(5));
    const refused = (): (number | undefined)[] => calls.map(({ end }) => end?.code);
    const { REFUSED_STREAM, ENHANCE_YOUR_CALM } = Http2ErrorCode;
    assert.deepEqual(refused(), [undefined, undefined, undefined, REFUSED_STREAM]);
    assert.deepEqual(calls[3]?.end, { by: 'peer', code: REFUSED_STREAM });
    calls[2]?.stream.reset(Http2ErrorCode.CANCEL);
    client.receive(goAway(1, 11, 'too\nmany'));
    // The third had ended before: it is not reported again.
    assert.deepEqual(refused(), [undefined, 7, undefined, 7]);
    assert.deepEqual([client.goAways.length, client.connection.streamCount], [2, 1]);
    assert.equal(client.connection.goAwayReason, 'ENHANCE_YOUR_CALM: too?many');
    client.receive(goAway(1, ENHANCE_YOUR_CALM));
    assert.equal(client.connection.goAwayReason, 'ENHANCE_YOUR_CALM');
    // That of a client refuses none of its own.
    const core = server(undefined, requestFrame(1), goAway(0));
    assert.deepEqual([core.goAways.length, core.connection.goAwayReason], [1, undefined]);
    assert.deepEqual([core.requests[0]?.end, core.connection.state], [undefined, 'going']);
  });
});

test('settings of the peer are reported each time', () => {
  assert.equal(new Core().connection.hasPeerSettings, false);
  const core = server(undefined, settingsFrame([3, 1]), settingsFrame());
  assert.equal(core.settings, 3);
  assert.equal(core.connection.hasPeerSettings, true);
});

test('a server is proven to its client, and a client once one of its streams is served', () => {
  const { client, server: other } = corePair();
  assert.equal(client.connection.isProven, true);
  client.request();
  other.receive(client.send());
  assert.equal(other.connection.isProven, false);
  other.requests[0]?.stream.serve();
  assert.equal(other.connection.isProven, true);
});

describe('a batch of frames', () => {
  /** Bytes of a batch of the usual size. */
  const BATCH = 80 << 10;
  const made = (length: number) => {
    const batch = new FrameBatch();
    batch.reserve(length);
    return batch.take();
  };

  test('keeps its bytes when it grows: up to the usual size, for a longer frame, or to twice as much', () => {
    const batch = new FrameBatch();
    assert.deepEqual([batch.length, batch.room, batch.bytes.length], [0, BATCH, 0]);
    assert.deepEqual([batch.reserve(10), batch.reserve(BATCH - 10)], [0, 10]);
    assert.deepEqual([batch.room, batch.bytes.length], [0, BATCH]);
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
    assert.deepEqual([batch.length, batch.bytes.length], [0, 0]);
  });

  test('uses the memory of sent ones again, of eight at most, and only those of the usual size', () => {
    // As many as may have been kept before, and one more.
    const sent = Array.from({ length: 9 }, () => made(1));
    for (const batch of [made(BATCH + 1), ...sent]) recycleBatch(batch);
    const buffers = new Set(sent.map(({ buffer }) => buffer));
    const again = Array.from({ length: 9 }, () => made(BATCH));
    assert.equal(again.filter(({ buffer }) => buffers.has(buffer)).length, 8);
    assert.ok(again.every(({ buffer }) => buffer.byteLength === BATCH));
  });
});

describe('the state of a stream (RFC 9113 §5.1)', () => {
  const nothing = (): void => undefined;
  const host: Http2StreamHost = {
    write: nothing,
    respond: nothing,
    reset: nothing,
    consumed: nothing,
    served: nothing,
    closed: nothing,
  };
  const events = { H: 'onHead', R: 'onEndReceived', S: 'onEndSent', X: 'onReset' } as const;
  const after = (names: string) => {
    const stream = new Http2Stream(host, 1);
    for (const name of names) stream[events[name as keyof typeof events]]();
    return { kind: stream.state, received: stream.arrived };
  };

  test('follows heads, ends of either side and resets, in any order', () => {
    for (const [names, kind, received] of [
      ['', 'open', 'nothing'],
      ['H', 'open', 'head'],
      ['S', 'half-closed (local)', 'nothing'],
      ['SH', 'half-closed (local)', 'head'],
      ['HS', 'half-closed (local)', 'head'],
      ['HR', 'half-closed (remote)', 'all'],
      ['HRS', 'closed', 'all'],
      ['SHR', 'closed', 'all'],
      ['X', 'closed', 'nothing'],
      ['HX', 'closed', 'head'],
      ['SHX', 'closed', 'head'],
      ['HRX', 'closed', 'all'],
    ] as const) {
      assert.deepEqual(after(names), { kind, received }, names);
      // What comes again, or behind the end, changes nothing.
      for (const again of kind === 'closed' ? 'HRSX' : names) {
        assert.deepEqual(after(names + again), after(names), names + again);
      }
    }
  });
});
