import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Http2ErrorCode } from '../../../src/http2/errors.ts';
import { FrameReader } from '../../../src/http2/frame-reader.ts';
import { Flag, FrameType, PREFACE } from '../../../src/http2/frames.ts';
import {
  CONTINUATION_LIMIT,
  FIELD_LIMIT,
  FRAME_LIMIT,
  HEADER_BLOCK_LIMIT,
  SETTINGS_LIMIT,
  WINDOW_LIMIT,
  INTERIM_LIMIT,
} from '../../../src/limits.ts';
import { WorkLimits } from '../../../src/http2/work-limits.ts';
import type { HttpField } from '../../../src/fields/field.ts';
import { Core } from '../../../../../test/support/http2/core.ts';
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

const { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE } = FrameType;
const { PING, GOAWAY, WINDOW_UPDATE, CONTINUATION } = FrameType;
const { END_STREAM, END_HEADERS, PADDED } = Flag;
const PRIORITIZED = Flag.PRIORITY;
const OK: readonly HttpField[] = [{ name: ':status', value: '200' }];

const data = (id: number, payload: string | number = 'data', flags = 0): Buffer =>
  frame(
    DATA,
    flags,
    id,
    typeof payload === 'string' ? Buffer.from(payload) : Buffer.alloc(payload),
  );
const head = (id: number, block: Uint8Array, flags = 0): Buffer =>
  frame(HEADERS, END_HEADERS | flags, id, block);
const fields = (...list: readonly (readonly [string, string])[]): Buffer => plainBlock(list);
/** Fields as a text: each has its name up to the first space. */
const pairsOf = (text: string): [string, string][] =>
  text.split(', ').map((field) => {
    const space = field.indexOf(' ');
    return [field.slice(0, space), field.slice(space + 1)];
  });
const listOf = (text: string): Buffer => plainBlock(pairsOf(text));
const request = (...extra: readonly (readonly [string, string])[]): Buffer =>
  requestFrame(1, Buffer.concat([REQUEST_BLOCK, plainBlock(extra)]));
const trailers = (id: number, flags: number = END_STREAM): Buffer =>
  head(id, fields(['a', 'b']), flags);
const lastRequest = (id: number): Buffer => head(id, REQUEST_BLOCK, END_STREAM);
const reset = (id: number): Buffer => frame(RST_STREAM, 0, id, uint32(8));
const widen = (id: number, increment: number): Buffer =>
  frame(WINDOW_UPDATE, 0, id, uint32(increment));
const status = (code: number, flags = 0): Buffer =>
  head(1, fields([':status', String(code)]), flags);
/** A dependency on another stream, exclusive, and its weight (RFC 9113 §6.2). */
const priority = (id: number): Buffer => Buffer.concat([uint32(id | 0x8000_0000), Buffer.of(15)]);
const part = (octets: number, flags = 0, id = 1): Buffer =>
  frame(CONTINUATION, flags, id, Buffer.alloc(octets, 0x82));
/** The header of a frame of such a length alone. */
const lengthOf = (length: number, type: number): Buffer => {
  const bytes = frame(type, 0, 1);
  bytes.writeUIntBE(length, 0, 3);
  return bytes;
};

/** A server behind the preface and SETTINGS of its client, or a client with a request on stream 1. */
function started(role: 'client' | 'server'): Core {
  const core = new Core({ role, settings: { initialWindowSize: 100 } });
  core.rests = true;
  core.receive(role === 'server' ? CLIENT_START : settingsFrame(), SETTINGS_ACK);
  if (role === 'client') core.requests.push(core.request());
  core.send();
  return core;
}

type Step = Uint8Array | 'respond' | 'reset';
type Row = Step | readonly Step[];

/** Passes what a peer sends, and what the user of the first stream does meanwhile. */
function run(core: Core, row: Row, isCut: boolean): void {
  const steps: readonly Step[] = Array.isArray(row) ? row : [row as Step];
  for (const step of steps) {
    const [first] = core.requests;
    if (step === 'respond') first?.stream.respond(OK, true);
    else if (step === 'reset') first?.stream.reset(Http2ErrorCode.CANCEL);
    else if (!isCut) core.receive(step);
    else for (const byte of step) core.receive(Uint8Array.of(byte));
    if (typeof step === 'string') core.send();
  }
}

/** What frames make of a side: the error of the connection with its reason, or of its streams, or nothing. */
function outcome(role: 'client' | 'server', row: Row): string {
  const results = [false, true].map((isCut) => {
    const core = started(role);
    run(core, row, isCut);
    const frames = core.frames();
    if (core.isEnded) {
      const goAway = frames.at(-1);
      assert.equal(goAway?.type, GOAWAY);
      assert.equal(core.connection.streamCount, 0);
      for (const { end } of core.requests) assert.ok(end === undefined || end.code >= 0);
      return `${core.errorName}: ${String(goAway.payload.subarray(8))}`;
    }
    // The next stream is served.
    if (role === 'server') {
      const before = core.requests.length;
      core.receive(requestFrame(101));
      assert.equal(core.requests.length, before + 1);
    }
    return frames
      .filter(({ type }) => type === RST_STREAM)
      .map(({ streamId, payload }) => `${streamId}: ${payload.readUInt32BE()}`)
      .join(', ');
  });
  assert.equal(results[1], results[0], 'the same when octets arrive one by one');
  return results[0] ?? '';
}

type Rows = Readonly<Record<string, readonly Row[]>>;

/** What a client sends behind its preface, by the error with which the connection ends. */
const CONNECTION_ERRORS: Rows = {
  'PROTOCOL_ERROR: DATA on a wrong stream': [data(0)],
  'PROTOCOL_ERROR: DATA on an idle stream': [data(1)],
  'PROTOCOL_ERROR: HEADERS on a wrong stream': [head(0, REQUEST_BLOCK), head(2, REQUEST_BLOCK)],
  'PROTOCOL_ERROR: a stream is opened after one with a larger id': [
    [requestFrame(3), data(1)],
    [requestFrame(3), requestFrame(1)],
    [requestFrame(9), data(1)],
    [requestFrame(3), requestFrame(9), data(5)],
    [requestFrame(3), requestFrame(9), trailers(7)],
  ],
  'STREAM_CLOSED: a frame follows the end of its stream': [
    [lastRequest(1), 'respond', data(1)],
    [lastRequest(1), 'respond', trailers(1)],
  ],
  'FRAME_SIZE_ERROR: a frame is longer than MAX_FRAME_SIZE': [
    FRAME_LIMIT + 1,
    1 << 16,
    (1 << 24) - 1,
  ].flatMap((length) => [lengthOf(length, DATA), lengthOf(length, HEADERS)]),
  'FRAME_SIZE_ERROR: a padded frame has no length of its padding': [
    [requestFrame(1), frame(DATA, PADDED, 1)],
  ],
  'PROTOCOL_ERROR: the padding is longer than the frame': [
    ...[3, 4, 255].map((padding) => [
      requestFrame(1),
      frame(DATA, PADDED, 1, Buffer.of(padding, 1, 2)),
    ]),
    frame(HEADERS, END_HEADERS | PADDED, 1, Buffer.of(1)),
    frame(HEADERS, END_HEADERS | PADDED, 1, Buffer.of(3, 0, 0)),
    frame(
      HEADERS,
      END_HEADERS | PADDED | PRIORITIZED,
      1,
      Buffer.concat([Buffer.of(1), priority(3)]),
    ),
  ],
  'FRAME_SIZE_ERROR: HEADERS has a wrong length': [
    head(1, Buffer.alloc(0), PADDED),
    head(1, Buffer.alloc(4), PRIORITIZED),
    // The length of the padding is none of the five octets of a priority.
    head(1, Buffer.alloc(5), PRIORITIZED | PADDED),
  ],
  'PROTOCOL_ERROR: a dependency on a wrong stream': [
    head(5, priority(5), PRIORITIZED),
    frame(PRIORITY, 0, 5, priority(5)),
  ],
  'COMPRESSION_ERROR: a field has an index beyond the tables': [head(1, Buffer.of(0x80))],
  'PROTOCOL_ERROR: a header block is interrupted, or has no beginning': [
    ...[
      frame(PING, 0, 0, Buffer.alloc(8)),
      data(1, 0),
      frame(0x42, 0, 1),
      SETTINGS_ACK,
      head(1, REQUEST_BLOCK),
      part(0, END_HEADERS, 3),
    ].map((next) => [frame(HEADERS, 0, 1, REQUEST_BLOCK), next]),
    part(0, END_HEADERS),
    [frame(HEADERS, 0, 1, REQUEST_BLOCK), part(0, END_HEADERS), part(0, END_HEADERS)],
  ],
  'ENHANCE_YOUR_CALM: a header block is too large': [
    [frame(HEADERS, 0, 1), ...Array.from({ length: CONTINUATION_LIMIT + 1 }, () => part(0))],
    [
      frame(HEADERS, 0, 1, Buffer.alloc(FRAME_LIMIT, 0x82)),
      ...Array.from({ length: HEADER_BLOCK_LIMIT / FRAME_LIMIT - 1 }, () => part(FRAME_LIMIT)),
      part(1, END_HEADERS),
    ],
  ],
  'PROTOCOL_ERROR: PRIORITY on a wrong stream': [frame(PRIORITY, 0, 0, priority(3))],
  'FRAME_SIZE_ERROR: PRIORITY has a wrong length': [4, 6].map((length) =>
    frame(PRIORITY, 0, 1, Buffer.alloc(length)),
  ),
  'PROTOCOL_ERROR: RST_STREAM on a wrong stream': [reset(0)],
  'PROTOCOL_ERROR: a reset of an idle stream': [reset(1), reset(2)],
  'FRAME_SIZE_ERROR: RST_STREAM has a wrong length': [3, 5].map((length) =>
    frame(RST_STREAM, 0, 1, Buffer.alloc(length)),
  ),
  'PROTOCOL_ERROR: SETTINGS on a wrong stream': [frame(SETTINGS, 0, 1), frame(SETTINGS, 1, 1)],
  'FRAME_SIZE_ERROR: SETTINGS has an incomplete parameter': [1, 5, 7].map((length) =>
    frame(SETTINGS, 0, 0, Buffer.alloc(length)),
  ),
  'FRAME_SIZE_ERROR: SETTINGS with ACK has a wrong length': [
    frame(SETTINGS, Flag.ACK, 0, Buffer.alloc(6)),
  ],
  'PROTOCOL_ERROR: SETTINGS are acknowledged that were not sent': [SETTINGS_ACK],
  'ENHANCE_YOUR_CALM: SETTINGS has too many parameters': [
    frame(SETTINGS, 0, 0, Buffer.alloc((SETTINGS_LIMIT + 1) * 6)),
  ],
  'PROTOCOL_ERROR: ENABLE_PUSH has an invalid value': [settingsFrame([2, 2])],
  'FLOW_CONTROL_ERROR: INITIAL_WINDOW_SIZE is too large': [
    settingsFrame([4, WINDOW_LIMIT + 1]),
    [requestFrame(1), widen(1, 1000), settingsFrame([4, WINDOW_LIMIT - 999])],
  ],
  'PROTOCOL_ERROR: MAX_FRAME_SIZE has an invalid value': [
    settingsFrame([5, FRAME_LIMIT - 1]),
    settingsFrame([5, 1 << 24]),
  ],
  'PROTOCOL_ERROR: PUSH_PROMISE, which is disabled': [frame(PUSH_PROMISE, 4, 1, uint32(2))],
  'PROTOCOL_ERROR: PING on a wrong stream': [frame(PING, 0, 1, Buffer.alloc(8))],
  'FRAME_SIZE_ERROR: PING has a wrong length': [7, 9].map((length) =>
    frame(PING, 0, 0, Buffer.alloc(length)),
  ),
  'PROTOCOL_ERROR: GOAWAY on a wrong stream': [frame(GOAWAY, 0, 1, Buffer.alloc(8))],
  'FRAME_SIZE_ERROR: GOAWAY has a wrong length': [frame(GOAWAY, 0, 0, Buffer.alloc(7))],
  'FRAME_SIZE_ERROR: WINDOW_UPDATE has a wrong length': [3, 5].map((length) =>
    frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(length)),
  ),
  'PROTOCOL_ERROR: a window update of an idle stream': [widen(1, 1)],
  'PROTOCOL_ERROR: a window update of nothing': [widen(0, 0)],
  'FLOW_CONTROL_ERROR: the window of the connection is too large': [
    widen(0, WINDOW_LIMIT - 65_534),
  ],
};

/** What a client sends on stream 1, and the resets that it gets; the connection goes on. */
const STREAM_ERRORS: Rows = {
  '1: 1': [
    ...[
      ':scheme http, :path /',
      ':method GET, :scheme http',
      ':method GET, :path /',
      ':method GET, :scheme http, :path ',
      ':method , :scheme http, :path /',
      // RFC 9113 §8.5.
      ':method CONNECT',
      ':method CONNECT, :authority ',
      ':method CONNECT, :authority a:1, :scheme https',
      ':method CONNECT, :authority a:1, :path /',
    ].map((text) => requestFrame(1, listOf(text))),
    ...[
      ':what x, :protocol websocket, :path /, Te trailers,  y, a b\r\nc: d, a b\0, a  b, a b\t',
      'connection close, transfer-encoding chunked, te gzip',
    ].flatMap((text) => text.split(', ').map((field) => request(...pairsOf(field)))),
    request(['x y', 'z']),
    requestFrame(1, Buffer.concat([fields(['a', 'b']), REQUEST_BLOCK])),
    [requestFrame(1), trailers(1, 0)],
    [requestFrame(1), head(1, fields([':path', '/']), END_STREAM)],
    [requestFrame(1), widen(1, 0)],
    // Also on a stream that is closed.
    [lastRequest(1), 'respond', widen(1, 0)],
  ],
  '1: 3': [
    [requestFrame(1), widen(1, WINDOW_LIMIT - 65_534)],
    [requestFrame(1), data(1, 100), data(1, 1)],
    // Padding counts (RFC 9113 §6.9.1).
    [requestFrame(1), frame(DATA, PADDED, 1, Buffer.concat([Buffer.of(100), Buffer.alloc(100)]))],
  ],
  '1: 5': [
    [lastRequest(1), data(1, 0)],
    [lastRequest(1), requestFrame(1)],
    // Behind its reset, of which the neighbours hear nothing.
    [requestFrame(1), requestFrame(3), reset(1), data(1)],
    [requestFrame(1), reset(1), trailers(1)],
    [requestFrame(1), 'reset', reset(1), data(1)],
    [requestFrame(1), 'reset', reset(1), trailers(1)],
  ],
  '1: 11': [
    request(...Array.from({ length: FIELD_LIMIT }, () => ['a', 'b'] as const)),
    [frame(HEADERS, 0, 1, Buffer.alloc(FRAME_LIMIT, 0x82)), part(FRAME_LIMIT, END_HEADERS)],
  ],
};

/** What a client may send. */
const VALID: readonly Row[] = [
  request(['te', 'Trailers'], ['x', '']),
  requestFrame(1, fields([':method', 'CONNECT'], [':authority', 'a.example:443'])),
  [requestFrame(1), data(1, 100)],
  [requestFrame(1), trailers(1)],
  [requestFrame(1), data(1, 'x', END_STREAM)],
  // In flight when this side has reset the stream (RFC 9113 §5.1).
  [requestFrame(1), 'reset', data(1)],
  [requestFrame(1), 'reset', frame(DATA, PADDED, 1, Buffer.of(2, 0x61, 0, 0))],
  [requestFrame(1), 'reset', trailers(1)],
  [requestFrame(1), 'reset', widen(1, 5)],
  [lastRequest(1), 'respond', reset(1)],
  [requestFrame(1), data(1, 0), frame(DATA, PADDED, 1, Buffer.of(0))],
  widen(0, WINDOW_LIMIT - 65_535),
  [requestFrame(1), widen(1, WINDOW_LIMIT - 65_535)],
  [requestFrame(1), widen(1, 1000), settingsFrame([4, WINDOW_LIMIT - 1000]), settingsFrame([4, 0])],
  // Of a window that was used, or of a stream that has ended, nothing is left.
  [requestFrame(1), widen(1, WINDOW_LIMIT - 65_535), reset(1), settingsFrame([4, 65_536])],
  settingsFrame([2, 0]),
  settingsFrame([2, 1]),
  settingsFrame([4, WINDOW_LIMIT]),
  settingsFrame([5, FRAME_LIMIT], [5, (1 << 24) - 1], [0, 9], [7, 9], [0x42, 9], [6, 5]),
  frame(SETTINGS, 0, 0, Buffer.alloc(SETTINGS_LIMIT * 6)),
  frame(PRIORITY, 0, 5, priority(3)),
  frame(0x42, 0xff, 7, Buffer.alloc(20)),
  frame(PING, Flag.ACK, 0, Buffer.alloc(8)),
  // The bit above a stream identifier is ignored (RFC 9113 §4.1).
  Buffer.concat([requestFrame(1).fill(0x80, 5, 6)]),
  // Padding, a priority, or both (RFC 9113 §6.2).
  head(1, Buffer.concat([Buffer.of(3), REQUEST_BLOCK, Buffer.alloc(3)]), PADDED),
  head(1, Buffer.concat([priority(3), REQUEST_BLOCK]), PRIORITIZED),
  head(
    1,
    Buffer.concat([Buffer.of(3), priority(3), REQUEST_BLOCK, Buffer.alloc(3)]),
    PADDED | PRIORITIZED,
  ),
  [
    frame(HEADERS, 0, 1, REQUEST_BLOCK),
    ...Array.from({ length: CONTINUATION_LIMIT - 1 }, () => part(0)),
    part(0, END_HEADERS),
  ],
];

describe('frames of a client', () => {
  for (const [error, rows] of Object.entries(CONNECTION_ERRORS)) {
    test(`end the connection with ${error}`, () => {
      for (const [index, row] of rows.entries()) {
        assert.equal(outcome('server', row), error, `row ${index}`);
      }
    });
  }

  for (const [error, rows] of Object.entries(STREAM_ERRORS)) {
    test(`have their stream reset, and nothing else: ${error}`, () => {
      for (const [index, row] of rows.entries()) {
        assert.equal(outcome('server', row), error, `row ${index}`);
      }
    });
  }

  test('are no error that are valid, or may have been in flight', () => {
    for (const [index, row] of VALID.entries()) {
      assert.equal(outcome('server', row), '', `row ${index}`);
    }
  });

  test('begin with the preface, whose first other octet ends the connection, and SETTINGS', () => {
    assert.equal(String.fromCharCode(...PREFACE), 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    for (const at of PREFACE.keys()) {
      const core = new Core();
      core.receive(PREFACE.subarray(0, at));
      assert.equal(core.isEnded, false);
      core.receive(Uint8Array.of((PREFACE[at] ?? 0) ^ 1));
      assert.equal(core.errorName, 'PROTOCOL_ERROR');
    }
    for (const first of [SETTINGS_ACK, requestFrame(1), data(0, 0), frame(0x42, 0, 0)]) {
      const core = new Core();
      core.receive(PREFACE, first, settingsFrame());
      assert.equal(core.errorName, 'PROTOCOL_ERROR');
      assert.equal(core.requests.length, 0);
    }
  });

  test('of a header block may be divided anywhere, with the end of the stream in the first', () => {
    const block = Buffer.concat([REQUEST_BLOCK, fields(['a', 'b'])]);
    for (let at = 0; at <= block.length; at += 3) {
      for (const flags of [0, END_STREAM]) {
        const core = started('server');
        core.receive(
          frame(HEADERS, flags, 1, block.subarray(0, at)),
          frame(CONTINUATION, 0, 1, block.subarray(at, at + 2)),
          frame(CONTINUATION, END_HEADERS, 1, block.subarray(at + 2)),
        );
        const [log] = core.requests;
        assert.deepEqual(log?.head.at(-1), { name: 'a', value: 'b' });
        assert.equal(log.stream.remoteEnded, flags !== 0);
      }
    }
  });
});

describe('frames of a server', () => {
  const rows: readonly (readonly [what: string, outcome: string, ...rows: readonly Row[]])[] = [
    [
      'that push',
      'PROTOCOL_ERROR: PUSH_PROMISE, which is disabled',
      frame(PUSH_PROMISE, 4, 1, uint32(2)),
    ],
    [
      'that enable pushes',
      'PROTOCOL_ERROR: ENABLE_PUSH has an invalid value',
      settingsFrame([2, 1]),
    ],
    [
      'that open a stream (RFC 9113 §8.4)',
      'PROTOCOL_ERROR: HEADERS on a wrong stream',
      head(2, REQUEST_BLOCK),
      head(3, fields([':status', '200'])),
    ],
    [
      'that are no response (RFC 9113 §8.1)',
      '1: 1',
      data(1),
      head(1, fields(['a', 'b'])),
      ...['', '20', '2000', '020', '2x0', '101'].map((code) => head(1, fields([':status', code]))),
      head(1, fields([':status', '200'], [':path', '/'])),
      head(1, fields([':status', '200'], ['X', 'y'])),
      status(103, END_STREAM),
      [status(200), head(1, fields([':status', '200']), END_STREAM)],
    ],
    [
      'that are too many interim responses',
      '1: 11',
      Array.from({ length: INTERIM_LIMIT + 1 }, () => status(103)),
    ],
    [
      'that are valid',
      '',
      [...Array.from({ length: INTERIM_LIMIT }, () => status(103)), status(200)],
      status(204, END_STREAM),
      ['reset', status(200)],
      settingsFrame([2, 0]),
    ],
  ];
  for (const [what, expected, ...list] of rows) {
    test(`${what}: ${expected}`, () => {
      for (const [index, row] of list.entries()) {
        assert.equal(outcome('client', row), expected, `row ${index}`);
      }
    });
  }

  test('end with its headers, and are reported without those of interim responses', () => {
    const core = started('client');
    const [call] = core.requests;
    core.receive(status(103));
    assert.ok(call);
    assert.equal(call.status, undefined);
    core.receive(status(204, END_STREAM));
    assert.deepEqual([call.status, call.stream.remoteEnded], [204, true]);
  });
});

describe('the window of the connection', () => {
  const filled = (size: number): Buffer[] => {
    const parts: Buffer[] = [];
    for (let left = size; left > 0; left -= FRAME_LIMIT)
      parts.push(data(1, Math.min(left, FRAME_LIMIT)));
    return parts;
  };
  test('may be used up to its last byte, and is opened again from half on', () => {
    const core = new Core({ connectionWindow: 100, settings: { initialWindowSize: 1 << 20 } });
    core.rests = true;
    core.receive(CLIENT_START, SETTINGS_ACK, requestFrame(1));
    core.send();
    const updates = (): number[] =>
      core
        .frames()
        .flatMap(({ type, payload }) => (type === WINDOW_UPDATE ? [payload.readUInt32BE()] : []));
    // 65,535 bytes, the initial window, are the peer's until it has used them.
    core.receive(...filled(65_535 - 51));
    assert.deepEqual(updates(), []);
    core.receive(data(1, 1));
    assert.deepEqual(updates(), [50]);
    core.receive(data(1, 100));
    assert.deepEqual([updates(), core.isEnded], [[100], false]);
    core.receive(data(1, 101));
    assert.equal(core.errorName, 'FLOW_CONTROL_ERROR');
  });
});

test('a reader refers to nothing of a chunk that it has read', () => {
  const reader = new FrameReader(new WorkLimits(true), false);
  for (const chunk of [settingsFrame(), requestFrame(1), data(1, 100)]) {
    reader.push(chunk);
    while (reader.next() !== undefined);
    assert.equal(reader.release(), chunk.length);
    assert.equal(reader.payload.length, 0);
    assert.deepEqual(reader.fields, []);
  }
});
