import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { HttpField } from '../../../src/fields/field.ts';
import { ClosedStreams } from '../../../src/http2/streams.ts';
import { Http2ErrorCode } from '../../../src/http2/errors.ts';
import { Flag, FrameType } from '../../../src/http2/frames.ts';
import {
  CLOSED_STREAM_LIMIT,
  FRAME_LIMIT,
  IDLE_FRAME_BURST,
  REPLY_LIMIT,
  RESET_BURST,
  RESET_RATE,
  SKIPPED_RANGE_LIMIT,
  STREAM_WORK,
  UNPROVEN_RESETS,
  UNPROVEN_WORK_A_TURN,
  WINDOW_LOOK_BURST,
  WORK_A_TURN,
} from '../../../src/limits.ts';
import { Core, corePair, type StreamLog } from '../../../../../test/support/http2/core.ts';
import {
  CLIENT_START,
  frame,
  plainBlock,
  REQUEST_BLOCK,
  requestFrame,
  SETTINGS_ACK,
  settingsFrame,
  uint32,
} from '../../../../../test/support/http2/raw-frames.ts';

const { DATA, HEADERS, PRIORITY, RST_STREAM, PING, GOAWAY, WINDOW_UPDATE } = FrameType;

/** Sends the same again and again until the connection is over; how often that was. */
function flood(core: Core, next: (i: number) => Uint8Array, most: number): number {
  for (let i = 0; i < most; i++) {
    core.receive(next(i));
    if (core.isEnded) return i;
    core.send();
  }
  return most;
}

const FLOODS: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ['PING', frame(PING, 0, 0, Buffer.alloc(8))],
  ['SETTINGS', settingsFrame()],
  ['empty DATA', frame(DATA, 0, 1)],
  ['DATA of padding alone', frame(DATA, 8, 1, Buffer.alloc(2, 1))],
  ['PRIORITY', frame(PRIORITY, 0, 1, Buffer.alloc(5))],
  ['frames of unknown types', frame(0x42, 0, 1)],
  ['GOAWAY', frame(GOAWAY, 0, 0, Buffer.alloc(8))],
];
for (const [what, bytes] of FLOODS) {
  const isPing = what === 'PING';
  test(`a flood of ${what} ends the connection, ${isPing ? 'but not' : 'also'} beside single bytes of data`, () => {
    const core = new Core();
    core.receive(CLIENT_START, requestFrame(1));
    assert.ok(flood(core, () => bytes, 2 * IDLE_FRAME_BURST) < IDLE_FRAME_BURST + 10);
    assert.equal(core.errorName, 'ENHANCE_YOUR_CALM');
    const busy = new Core();
    busy.receive(CLIENT_START, requestFrame(1));
    const pair = Buffer.concat([frame(DATA, 0, 1, Buffer.alloc(1)), bytes]);
    flood(busy, () => pair, 2 * IDLE_FRAME_BURST);
    assert.equal(busy.errorName, isPing ? undefined : 'ENHANCE_YOUR_CALM');
  });
}

const openAndReset = (i: number): Buffer =>
  Buffer.concat([requestFrame(2 * i + 1), frame(RST_STREAM, 0, 2 * i + 1, uint32(8))]);
/** Makes the server reset it. */
const openAndFail = (i: number): Buffer =>
  Buffer.concat([requestFrame(2 * i + 1), frame(WINDOW_UPDATE, 0, 2 * i + 1, uint32(0))]);
const served = (): Core => {
  const core = new Core();
  core.receive(CLIENT_START, requestFrame(1));
  // The larger limits are given once, however often one is served.
  core.requests[0]?.stream.serve();
  core.requests[0]?.stream.serve();
  return core;
};

for (const [what, next] of [
  ['a client opens and resets', openAndReset],
  ['a client makes the server reset', openAndFail],
] as const) {
  test(`few streams that ${what} end a connection without a served one`, () => {
    const core = new Core();
    core.receive(CLIENT_START);
    core.now += 3_600_000;
    assert.equal(flood(core, next, 2 * UNPROVEN_RESETS), UNPROVEN_RESETS);
    assert.equal(core.errorName, 'ENHANCE_YOUR_CALM');
  });

  test(`behind a served stream, a burst of streams that ${what} ends it, and their rate does not`, () => {
    const core = served();
    assert.equal(
      flood(core, (i) => next(i + 1), 2 * RESET_BURST),
      RESET_BURST,
    );
    assert.equal(core.errorName, 'ENHANCE_YOUR_CALM');
    const slow = served();
    flood(
      slow,
      (i) => {
        slow.now += 1000 / RESET_RATE;
        return next(i + 1);
      },
      2 * RESET_BURST,
    );
    assert.equal(slow.isEnded, false);
  });
}

test('streams that were served may all be reset at once', () => {
  const core = new Core();
  core.receive(CLIENT_START);
  for (let i = 0; i < 3 * RESET_BURST; i++) {
    core.receive(requestFrame(2 * i + 1));
    core.requests.at(-1)?.stream.serve();
  }
  for (let i = 0; i < 3 * RESET_BURST; i++)
    core.receive(frame(RST_STREAM, 0, 2 * i + 1, uint32(8)));
  assert.deepEqual([core.isEnded, core.connection.streamCount], [false, 0]);
});

/** Counts how often a field of the streams is looked at. */
function countLooks(logs: readonly StreamLog[], field: 'id' | 'sendCredit'): () => number {
  let looks = 0;
  for (const { stream } of logs) {
    let value: number = stream[field];
    Object.defineProperty(stream, field, {
      get() {
        looks++;
        return value;
      },
      set(next: number) {
        value = next;
      },
    });
  }
  return () => looks;
}

test('windows that are changed again and again cost nothing for streams that do not wait for one', () => {
  const core = new Core();
  core.receive(CLIENT_START);
  for (let i = 0; i < 1000; i++) core.receive(requestFrame(2 * i + 1));
  const looks = countLooks(core.requests, 'sendCredit');
  const changes = Array.from({ length: 1000 }, (_, i) => settingsFrame([4, 65_536 + (i % 2)]));
  core.receive(...changes, frame(DATA, 0, 1, Buffer.alloc(1)));
  assert.ok(looks() < 1000, `${looks()} looks at a stream`);
  assert.equal(core.isEnded, false);
});

test('streams that wait for a window are looked at once a turn, and end a connection that overdoes it', () => {
  const core = new Core();
  core.receive(CLIENT_START, settingsFrame([4, 0]));
  for (let i = 0; i < 1000; i++) core.receive(requestFrame(2 * i + 1));
  for (const { stream } of core.requests) {
    stream.push(Buffer.alloc(100), false);
    stream.flush();
  }
  const looks = countLooks(core.requests, 'sendCredit');
  const change = Buffer.concat([settingsFrame([4, 1]), settingsFrame([4, 0])]);
  const most = WINDOW_LOOK_BURST / 1000;
  core.receive(...Array.from({ length: most }, () => change));
  assert.ok(looks() <= 1000, `${looks()} looks at a stream`);
  assert.equal(core.isEnded, false);
  core.receive(change);
  assert.equal(core.errorName, 'ENHANCE_YOUR_CALM');
});

test('a server that sends GOAWAY again and again is heard once for each stream that it leaves', () => {
  const { client } = corePair();
  const calls = Array.from({ length: 1000 }, () => client.request());
  client.send();
  const looks = countLooks(calls, 'id');
  const goAway = (last: number): Buffer =>
    frame(GOAWAY, 0, 0, Buffer.concat([uint32(last), uint32(0)]));
  client.receive(...Array.from({ length: 1000 }, () => goAway(1999)));
  client.receive(...Array.from({ length: 1000 }, (_, i) => goAway(1999 - 2 * i)));
  assert.equal(client.connection.streamCount, 1);
  assert.ok(looks() < 10_000, `${looks()} looks at a stream`);
  assert.deepEqual([client.isEnded, calls[0]?.end, calls[1]?.end?.code], [false, undefined, 7]);
});

test('the frames of many streams are taken over several turns', () => {
  const core = served();
  const count = 4 * WORK_A_TURN;
  const opened = Array.from({ length: count }, (_, i) => requestFrame(2 * i + 3));
  core.turns = 0;
  core.receive(...opened);
  assert.ok(core.turns >= (count * STREAM_WORK) / WORK_A_TURN, `${core.turns} turns`);
  assert.equal(core.requests.length, count + 1);
  core.turns = 0;
  core.receive(...opened.map((_, i) => frame(DATA, 0, 2 * i + 3, Buffer.alloc(1))));
  assert.ok(core.turns >= count / WORK_A_TURN, `${core.turns} turns`);
  core.turns = 0;
  core.receive(frame(DATA, 0, 1, Buffer.alloc(FRAME_LIMIT)), frame(DATA, 0, 1, Buffer.alloc(1)));
  assert.equal(core.turns, 1);
});

test('of a client that was never served, a turn takes the frames of few streams', () => {
  const core = new Core();
  core.receive(CLIENT_START);
  const count = 4 * UNPROVEN_WORK_A_TURN;
  core.turns = 0;
  core.receive(...Array.from({ length: count }, (_, i) => requestFrame(2 * i + 1)));
  assert.ok(core.turns >= (count * STREAM_WORK) / UNPROVEN_WORK_A_TURN, `${core.turns} turns`);
});

test('responses that a client does not read are bounded', () => {
  const core = new Core();
  core.receive(CLIENT_START);
  core.connection.isBlocked = true;
  const ping = frame(PING, 0, 0, Buffer.alloc(8));
  const data = Buffer.concat([requestFrame(1), frame(DATA, 0, 1, Buffer.alloc(1)), ping]);
  for (let i = 0; i < 100_000 && !core.isEnded; i++) {
    core.receive(i === 0 ? data : data.subarray(requestFrame(1).length));
  }
  assert.equal(core.errorName, 'ENHANCE_YOUR_CALM');
  assert.ok(core.connection.outputLength < REPLY_LIMIT + 1024);
});

test('single bytes that are not read are held in little more than their number', () => {
  const core = new Core({ settings: { initialWindowSize: 1 << 20 } });
  core.rests = true;
  core.receive(CLIENT_START, requestFrame(1));
  for (let i = 0; i < 20_000; i++) core.receive(frame(DATA, 0, 1, Buffer.from([i & 0xff])));
  const [held] = core.requests;
  assert.equal(held?.stream.readable, 20_000);
  const pieces = held.stream.take(20_000);
  const buffers = new Set(pieces.map(({ buffer }) => buffer));
  const memory = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
  assert.ok(pieces.length < 20 && memory < 3 * 20_000, `${pieces.length} pieces, ${memory} bytes`);
  assert.ok(Buffer.concat([...pieces]).every((byte, i) => byte === (i & 0xff)));
});

const OK: readonly HttpField[] = [{ name: ':status', value: '200' }];
const trailers = frame(HEADERS, Flag.END_HEADERS | Flag.END_STREAM, 1, plainBlock([['a', 'b']]));
const lastRequestFrame = (id: number): Buffer =>
  frame(HEADERS, Flag.END_HEADERS | Flag.END_STREAM, id, REQUEST_BLOCK);
const dataFrame = (id: number): Buffer => frame(DATA, 0, id, Buffer.from('data'));

function started(...frames: readonly Uint8Array[]): Core {
  const core = new Core();
  core.receive(CLIENT_START, SETTINGS_ACK, ...frames);
  core.send();
  return core;
}

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
  const server = started();
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
  const server = started(requestFrame(1));
  server.requests[0]?.stream.reset(Http2ErrorCode.CANCEL);
  server.receive(...Array.from({ length: IDLE_FRAME_BURST + 1 }, () => trailers));
  assert.equal(server.errorName, 'ENHANCE_YOUR_CALM');
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

const anyFrame = fc
  .record({
    type: fc.integer({ min: 0, max: 11 }),
    flags: fc.integer({ min: 0, max: 255 }),
    streamId: fc.integer({ min: 0, max: 9 }),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 40, size: 'max' }),
      fc.constant(REQUEST_BLOCK),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }).map(uint32),
    ),
  })
  .map(({ type, flags, streamId, payload }) => frame(type, flags, streamId, payload));

/** The same bytes in pieces of up to `size`. */
function inPieces(core: Core, bytes: Uint8Array, size: number): void {
  for (let at = 0; at < bytes.length; at += size) core.receive(bytes.subarray(at, at + size));
}

for (const role of ['client', 'server'] as const) {
  test(`any frames end a ${role} with a named error or not at all, however they are cut`, () => {
    fc.assert(
      fc.property(
        fc.array(anyFrame, { maxLength: 30, size: 'max' }),
        fc.integer({ min: 1, max: 50 }),
        (frames, size) => {
          const bytes = Buffer.concat([
            role === 'server' ? CLIENT_START : settingsFrame(),
            ...frames,
          ]);
          const [whole, cut] = [new Core({ role }), new Core({ role })];
          for (const core of [whole, cut]) {
            if (role === 'client') for (let i = 0; i < 3; i++) core.request();
          }
          whole.receive(bytes);
          inPieces(cut, bytes, size);
          for (const core of [whole, cut]) {
            if (core.isEnded) assert.ok(core.errorName !== undefined);
            assert.ok(core.connection.outputLength < 1 << 16);
          }
          assert.equal(cut.errorName, whole.errorName);
          assert.deepEqual(
            cut.requests.map(({ data }) => String(data)),
            whole.requests.map(({ data }) => String(data)),
          );
        },
      ),
    );
  });
}
