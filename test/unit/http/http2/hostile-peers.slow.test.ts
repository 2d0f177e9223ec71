import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FrameType, PREFACE } from '../../../../src/http/http2/frames.ts';
import {
  CONTINUATION_LIMIT,
  FIELD_LIMIT,
  FRAME_LIMIT,
  HEADER_BLOCK_LIMIT,
  IDLE_FRAME_BURST,
  REPLY_LIMIT,
  RESET_BURST,
  RESET_RATE,
  SETTINGS_LIMIT,
  STREAM_WORK,
  UNPROVEN_RESETS,
  WINDOW_LIMIT,
  WINDOW_LOOK_BURST,
  UNPROVEN_WORK_A_TURN,
  WORK_A_TURN,
} from '../../../../src/http/http2/limits.ts';
import { Core, corePair, type StreamLog } from '../../../support/http2/core.ts';
import {
  CLIENT_START,
  frame,
  plainBlock,
  REQUEST_BLOCK,
  requestFrame,
  settingsFrame,
  uint32,
} from '../../../support/http2/raw-frames.ts';

const { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE } = FrameType;
const { PING, GOAWAY, WINDOW_UPDATE, CONTINUATION } = FrameType;
const NONE = new Uint8Array(0);
const request = (...extra: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat([REQUEST_BLOCK, plainBlock(extra)]);

/** What a client sends behind its preface, and the error with which the connection ends. */
const CONNECTION_ERRORS: readonly (readonly [what: string, bytes: Uint8Array, error: string])[] = [
  [
    'a frame beyond MAX_FRAME_SIZE',
    frame(DATA, 0, 1, Buffer.alloc(FRAME_LIMIT + 1)),
    'FRAME_SIZE_ERROR',
  ],
  ['DATA on stream 0', frame(DATA, 0, 0), 'PROTOCOL_ERROR'],
  ['DATA on an idle stream', frame(DATA, 0, 1), 'PROTOCOL_ERROR'],
  [
    'padded DATA without a length',
    Buffer.concat([requestFrame(1), frame(DATA, 8, 1)]),
    'FRAME_SIZE_ERROR',
  ],
  [
    'DATA with more padding than payload',
    Buffer.concat([requestFrame(1), frame(DATA, 8, 1, Buffer.from([5, 0, 0]))]),
    'PROTOCOL_ERROR',
  ],
  ['HEADERS on stream 0', frame(HEADERS, 4, 0, REQUEST_BLOCK), 'PROTOCOL_ERROR'],
  ['HEADERS on a stream of the server', frame(HEADERS, 4, 2, REQUEST_BLOCK), 'PROTOCOL_ERROR'],
  [
    'HEADERS with more padding than payload',
    frame(HEADERS, 12, 1, Buffer.from([9, 0])),
    'PROTOCOL_ERROR',
  ],
  ['HEADERS with half a priority', frame(HEADERS, 0x24, 1, Buffer.alloc(4)), 'FRAME_SIZE_ERROR'],
  [
    'HEADERS that depend on themselves',
    frame(HEADERS, 0x24, 1, Buffer.from([0, 0, 0, 1, 0])),
    'PROTOCOL_ERROR',
  ],
  [
    'a header block that is invalid',
    frame(HEADERS, 4, 1, Buffer.from([0x80])),
    'COMPRESSION_ERROR',
  ],
  [
    'a frame within a header block',
    Buffer.concat([frame(HEADERS, 0, 1, REQUEST_BLOCK), frame(PING, 0, 0, Buffer.alloc(8))]),
    'PROTOCOL_ERROR',
  ],
  [
    'CONTINUATION of another stream',
    Buffer.concat([frame(HEADERS, 0, 1, REQUEST_BLOCK), frame(CONTINUATION, 4, 3)]),
    'PROTOCOL_ERROR',
  ],
  ['CONTINUATION without HEADERS', frame(CONTINUATION, 4, 1), 'PROTOCOL_ERROR'],
  ['PRIORITY on stream 0', frame(PRIORITY, 0, 0, Buffer.alloc(5)), 'PROTOCOL_ERROR'],
  ['PRIORITY of a wrong length', frame(PRIORITY, 0, 1, Buffer.alloc(4)), 'FRAME_SIZE_ERROR'],
  ['RST_STREAM on stream 0', frame(RST_STREAM, 0, 0, uint32(8)), 'PROTOCOL_ERROR'],
  ['RST_STREAM of an idle stream', frame(RST_STREAM, 0, 1, uint32(8)), 'PROTOCOL_ERROR'],
  ['RST_STREAM of a wrong length', frame(RST_STREAM, 0, 1, Buffer.alloc(5)), 'FRAME_SIZE_ERROR'],
  ['SETTINGS on a stream', frame(SETTINGS, 0, 1), 'PROTOCOL_ERROR'],
  ['SETTINGS with half a parameter', frame(SETTINGS, 0, 0, Buffer.alloc(5)), 'FRAME_SIZE_ERROR'],
  ['SETTINGS with ACK and parameters', frame(SETTINGS, 1, 0, Buffer.alloc(6)), 'FRAME_SIZE_ERROR'],
  [
    'an ACK of nothing',
    Buffer.concat([frame(SETTINGS, 1, 0), frame(SETTINGS, 1, 0)]),
    'PROTOCOL_ERROR',
  ],
  ['an invalid ENABLE_PUSH', settingsFrame([2, 2]), 'PROTOCOL_ERROR'],
  ['a window beyond the limit', settingsFrame([4, WINDOW_LIMIT + 1]), 'FLOW_CONTROL_ERROR'],
  ['a MAX_FRAME_SIZE that is too small', settingsFrame([5, 16_383]), 'PROTOCOL_ERROR'],
  ['a MAX_FRAME_SIZE that is too large', settingsFrame([5, 1 << 24]), 'PROTOCOL_ERROR'],
  [
    'too many parameters',
    frame(SETTINGS, 0, 0, Buffer.alloc((SETTINGS_LIMIT + 1) * 6)),
    'ENHANCE_YOUR_CALM',
  ],
  [
    'settings that make a window too large',
    Buffer.concat([
      requestFrame(1),
      frame(WINDOW_UPDATE, 0, 1, uint32(WINDOW_LIMIT - 65_535)),
      settingsFrame([4, 65_536]),
    ]),
    'FLOW_CONTROL_ERROR',
  ],
  ['PUSH_PROMISE', frame(PUSH_PROMISE, 4, 1, uint32(2)), 'PROTOCOL_ERROR'],
  ['PING on a stream', frame(PING, 0, 1, Buffer.alloc(8)), 'PROTOCOL_ERROR'],
  ['PING of a wrong length', frame(PING, 0, 0, Buffer.alloc(7)), 'FRAME_SIZE_ERROR'],
  ['GOAWAY on a stream', frame(GOAWAY, 0, 1, Buffer.alloc(8)), 'PROTOCOL_ERROR'],
  ['GOAWAY of a wrong length', frame(GOAWAY, 0, 0, Buffer.alloc(7)), 'FRAME_SIZE_ERROR'],
  [
    'WINDOW_UPDATE of a wrong length',
    frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(3)),
    'FRAME_SIZE_ERROR',
  ],
  ['WINDOW_UPDATE of an idle stream', frame(WINDOW_UPDATE, 0, 1, uint32(1)), 'PROTOCOL_ERROR'],
  ['WINDOW_UPDATE of zero', frame(WINDOW_UPDATE, 0, 0, uint32(0)), 'PROTOCOL_ERROR'],
  [
    'a window of the connection that is too large',
    frame(WINDOW_UPDATE, 0, 0, uint32(WINDOW_LIMIT)),
    'FLOW_CONTROL_ERROR',
  ],
];

for (const [what, bytes, error] of CONNECTION_ERRORS) {
  test(`${what} ends the connection with ${error}`, () => {
    const core = new Core();
    core.receive(CLIENT_START);
    core.send();
    core.receive(bytes);
    assert.equal(core.errorName, error);
    const goAway = core.frames().at(-1);
    assert.equal(goAway?.type, GOAWAY);
    assert.ok(goAway.payload.length > 8, 'debug data');
    for (const { end } of core.requests) assert.equal(end?.by, 'connection');
    assert.equal(core.connection.streamCount, 0);
  });
}

/** What a client sends on stream 1, and the code with which it is reset. */
const STREAM_ERRORS: readonly (readonly [what: string, bytes: Uint8Array, code: number])[] = [
  [
    'no method',
    requestFrame(
      1,
      plainBlock([
        [':scheme', 'http'],
        [':path', '/'],
      ]),
    ),
    1,
  ],
  [
    'no path',
    requestFrame(
      1,
      plainBlock([
        [':method', 'GET'],
        [':scheme', 'http'],
      ]),
    ),
    1,
  ],
  ['an unknown pseudo-header field', requestFrame(1, plainBlock([[':what', 'x']])), 1],
  ['a repeated pseudo-header field', requestFrame(1, request([':path', '/'])), 1],
  ['a pseudo-header field behind another', requestFrame(1, request(['a', 'b'], [':path', '/'])), 1],
  ['a name in upper case', requestFrame(1, request(['Te', 'trailers'])), 1],
  ['a value with a line break', requestFrame(1, request(['a', 'b\r\nc: d'])), 1],
  ['a value with white space around it', requestFrame(1, request(['a', ' b'])), 1],
  ['a field of the connection', requestFrame(1, request(['connection', 'close'])), 1],
  ['te other than trailers', requestFrame(1, request(['te', 'gzip'])), 1],
  [
    'trailers that do not end it',
    Buffer.concat([requestFrame(1), requestFrame(1, plainBlock([['a', 'b']]))]),
    1,
  ],
  [
    'trailers with a pseudo-header field',
    Buffer.concat([requestFrame(1), frame(HEADERS, 5, 1, plainBlock([[':path', '/']]))]),
    1,
  ],
  [
    'DATA behind its end',
    Buffer.concat([frame(HEADERS, 5, 1, REQUEST_BLOCK), frame(DATA, 0, 1)]),
    5,
  ],
  [
    'HEADERS behind its end',
    Buffer.concat([frame(HEADERS, 5, 1, REQUEST_BLOCK), requestFrame(1)]),
    5,
  ],
  [
    'a window update of zero',
    Buffer.concat([requestFrame(1), frame(WINDOW_UPDATE, 0, 1, uint32(0))]),
    1,
  ],
  [
    'a window that is too large',
    Buffer.concat([requestFrame(1), frame(WINDOW_UPDATE, 0, 1, uint32(WINDOW_LIMIT))]),
    3,
  ],
  [
    'too many fields',
    requestFrame(1, request(...Array.from({ length: FIELD_LIMIT }, () => ['a', 'b'] as const))),
    11,
  ],
];

for (const [what, bytes, code] of STREAM_ERRORS) {
  test(`a request with ${what} is reset with code ${code}, and the next is served`, () => {
    const core = new Core();
    core.receive(CLIENT_START);
    core.send();
    core.receive(bytes);
    const reset = core.frames().at(-1);
    assert.deepEqual([reset?.type, reset?.streamId], [RST_STREAM, 1]);
    assert.equal(reset?.payload.readUInt32BE(), code);
    const before = core.requests.length;
    core.receive(requestFrame(3));
    assert.equal(core.requests.length, before + 1);
    assert.equal(core.isEnded, false);
  });
}

test('a client that does not begin with the preface, or SETTINGS, is not served', () => {
  for (const bytes of [
    Buffer.from('GET / HTTP/1.1\r\n'),
    Buffer.concat([PREFACE, requestFrame(1)]),
  ]) {
    const core = new Core();
    core.receive(bytes);
    assert.equal(core.errorName, 'PROTOCOL_ERROR');
  }
});

test('a server that pushes, or enables pushes, ends the connection', () => {
  for (const bytes of [frame(PUSH_PROMISE, 4, 1, uint32(2)), settingsFrame([2, 1])]) {
    const { client } = corePair();
    client.request();
    client.receive(bytes);
    assert.equal(client.errorName, 'PROTOCOL_ERROR');
  }
});

test('DATA beyond the window of the connection ends it', () => {
  const core = new Core({ connectionWindow: 65_535 });
  core.receive(CLIENT_START, requestFrame(1));
  // Padding counts as well (RFC 9113 §6.9.1), and what was sent is granted again from half on.
  const part = frame(DATA, 8, 1, Buffer.alloc(FRAME_LIMIT, 255));
  for (let i = 0; i < 100 && !core.isEnded; i++) core.receive(part);
  assert.equal(core.isEnded, false);
  const small = new Core({ connectionWindow: 0 });
  small.receive(CLIENT_START, requestFrame(1), part, part, part);
  assert.equal(small.isEnded, false);
  small.receive(part);
  assert.equal(small.errorName, 'FLOW_CONTROL_ERROR');
});

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

test('a window that a stream has sent up or taken along may be given to all again', () => {
  const core = new Core();
  const room = WINDOW_LIMIT - 65_535;
  core.receive(CLIENT_START, requestFrame(1), frame(WINDOW_UPDATE, 0, 1, uint32(room)));
  core.receive(frame(RST_STREAM, 0, 1, uint32(8)), requestFrame(3), settingsFrame([4, 65_536]));
  assert.equal(core.isEnded, false);
  core.receive(frame(WINDOW_UPDATE, 0, 3, uint32(room - 1)), settingsFrame([4, 65_537]));
  assert.equal(core.errorName, 'FLOW_CONTROL_ERROR');
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

test('a header block without an end is bounded in frames and in bytes', () => {
  for (const [part, most] of [
    [NONE, CONTINUATION_LIMIT],
    [Buffer.alloc(FRAME_LIMIT), HEADER_BLOCK_LIMIT / FRAME_LIMIT],
  ] as const) {
    const core = new Core();
    core.receive(CLIENT_START, frame(HEADERS, 0, 1, REQUEST_BLOCK));
    assert.ok(flood(core, () => frame(CONTINUATION, 0, 1, part), 1000) <= most);
    assert.equal(core.errorName, 'ENHANCE_YOUR_CALM');
  }
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

test('any bytes behind the preface end the connection with a named error or not at all', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300, size: 'max' }), (bytes) => {
      const core = new Core();
      core.receive(CLIENT_START, bytes);
      if (core.isEnded) assert.ok(core.errorName !== undefined);
    }),
  );
});
