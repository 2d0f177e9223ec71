import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Http2Error } from '../../../../src/http/http2/errors.ts';
import type { HttpField } from '../../../../src/http/fields/field.ts';
import { Flag, FrameType } from '../../../../src/http/http2/frames.ts';
import {
  CONTINUATION_LIMIT,
  FIELD_LIMIT,
  FRAME_LIMIT,
  HEADER_BLOCK_LIMIT,
} from '../../../../src/http/http2/limits.ts';
import { Receiver, type ReceiverHost } from '../../../../src/http/http2/receiver.ts';
import {
  frame,
  plainBlock,
  SETTINGS_ACK,
  settingsFrame,
  uint32,
} from '../../../support/http2/raw-frames.ts';

const { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE } = FrameType;
const { PING, GOAWAY, WINDOW_UPDATE, CONTINUATION } = FrameType;

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** Writes down what it is given. */
class Recording implements ReceiverHost {
  readonly calls: string[] = [];
  readonly isTurnSpent = false;

  onDataHeader(streamId: number, length: number): undefined {
    this.calls.push(`DATA ${streamId} ${length}`);
  }

  onData(piece: Uint8Array): void {
    this.calls.push(`piece ${text(piece)}`);
  }

  onDataEnd(endsStream: boolean): undefined {
    this.calls.push(endsStream ? 'end of the stream' : 'end');
  }

  onPadding(): void {
    this.calls.push('padding');
  }

  onHeaders(
    streamId: number,
    fields: readonly HttpField[] | Http2Error,
    endsStream: boolean,
  ): undefined {
    const list =
      fields instanceof Http2Error
        ? fields.name
        : fields.map(({ name, value }) => `${name}=${value}`).join(' ');
    this.calls.push(`HEADERS ${streamId} ${list}${endsStream ? ' end' : ''}`);
  }

  onReset(streamId: number, code: number): undefined {
    this.calls.push(`RST_STREAM ${streamId} ${code}`);
  }

  onSettings(payload: Uint8Array): undefined {
    this.calls.push(`SETTINGS ${payload.length}`);
  }

  onSettingsAck(): undefined {
    this.calls.push('SETTINGS ACK');
  }

  onPing(data: Uint8Array, isAck: boolean): void {
    this.calls.push(`PING ${text(data)}${isAck ? ' ACK' : ''}`);
  }

  onGoAway(lastStreamId: number, code: number, debug: Uint8Array): void {
    this.calls.push(`GOAWAY ${lastStreamId} ${code} ${text(debug)}`);
  }

  onWindowUpdate(streamId: number, increment: number): undefined {
    this.calls.push(`WINDOW_UPDATE ${streamId} ${increment}`);
  }
}

/** What a peer without a preface sends at first. */
const FIRST = settingsFrame();

function receive(bytes: Uint8Array): { calls: string[]; error: string | undefined } {
  const host = new Recording();
  const receiver = new Receiver(host, false);
  const error = receiver.receive(bytes, 0);
  assert.equal(error?.scope, error && 'connection');
  return { calls: host.calls, error: error && `${error.name}: ${error.reason}` };
}

/** What the host is given of frames behind SETTINGS. */
function callsOf(...frames: readonly Uint8Array[]): string[] {
  const { calls, error } = receive(Buffer.concat([FIRST, ...frames]));
  assert.equal(error, undefined);
  return calls.slice(1);
}
const errorOf = (...frames: readonly Uint8Array[]): string | undefined =>
  receive(Buffer.concat([FIRST, ...frames])).error;

const BLOCK = plainBlock([['a', 'b']]);
const AGAIN = plainBlock([['c', 'd']]);
/** A dependency on another stream, exclusive, and its weight (RFC 9113 §6.2). */
const priority = (streamId: number): Buffer =>
  Buffer.concat([uint32(streamId | 0x8000_0000), Buffer.from([15])]);

describe('the first frame of a peer', () => {
  test('is SETTINGS, and not an acknowledgement of it (RFC 9113 §3.4)', () => {
    assert.deepEqual(receive(FIRST), { calls: ['SETTINGS 0'], error: undefined });
    for (const first of [
      SETTINGS_ACK,
      frame(PING, 0, 0, Buffer.alloc(8)),
      frame(DATA, 0, 1),
      frame(HEADERS, Flag.END_HEADERS, 1, BLOCK),
      frame(0x42, 0, 0),
    ]) {
      const { calls, error } = receive(Buffer.concat([first, FIRST]));
      assert.equal(error, 'PROTOCOL_ERROR: the first frame is not SETTINGS');
      assert.deepEqual(calls, []);
    }
  });
});

describe('a frame whose form is valid', () => {
  test('of each type is passed on with its fields (RFC 9113 §6)', () => {
    for (const [bytes, call] of [
      [frame(RST_STREAM, 0, 5, uint32(8)), 'RST_STREAM 5 8'],
      [settingsFrame([1, 2]), 'SETTINGS 6'],
      [SETTINGS_ACK, 'SETTINGS ACK'],
      [frame(PING, 0, 0, Buffer.from('12345678')), 'PING 12345678'],
      [frame(PING, Flag.ACK, 0, Buffer.from('12345678')), 'PING 12345678 ACK'],
      [
        frame(GOAWAY, 0, 0, Buffer.concat([uint32(0x8000_0007), uint32(11), Buffer.from('why')])),
        'GOAWAY 7 11 why',
      ],
      [frame(GOAWAY, 0, 0, Buffer.concat([uint32(7), uint32(0)])), 'GOAWAY 7 0 '],
      [frame(WINDOW_UPDATE, 0, 0, uint32(0x8000_0009)), 'WINDOW_UPDATE 0 9'],
      [frame(WINDOW_UPDATE, 0, 3, uint32(0)), 'WINDOW_UPDATE 3 0'],
    ] as const) {
      assert.deepEqual(callsOf(bytes), [call]);
    }
  });

  test('of PRIORITY or of an unknown type is ignored (RFC 9113 §4.1, §5.3.2)', () => {
    const ignored = [frame(PRIORITY, 0, 5, priority(3)), frame(0x42, 0xff, 7, Buffer.alloc(20))];
    assert.deepEqual(callsOf(...ignored, SETTINGS_ACK), ['SETTINGS ACK']);
  });

  test('of DATA counts with its padding, which is reported (RFC 9113 §6.1)', () => {
    const padded = (...octets: readonly number[]): Buffer =>
      frame(DATA, Flag.PADDED, 1, Buffer.from(octets));
    assert.deepEqual(callsOf(frame(DATA, 0, 1, Buffer.from('ab'))), [
      'DATA 1 2',
      'piece ab',
      'end',
    ]);
    assert.deepEqual(callsOf(frame(DATA, Flag.END_STREAM, 1)), ['DATA 1 0', 'end of the stream']);
    assert.deepEqual(callsOf(padded(1, 0x61, 0)), ['DATA 1 3', 'piece a', 'padding', 'end']);
    assert.deepEqual(callsOf(padded(0)), ['DATA 1 1', 'padding', 'end']);
  });
});

describe('a header block', () => {
  test('comes without padding and priority, or with either or both (RFC 9113 §6.2)', () => {
    const { PADDED, END_HEADERS, END_STREAM } = Flag;
    const [length, padding] = [Buffer.from([3]), Buffer.alloc(3)];
    for (const [flags, ...parts] of [
      [0, BLOCK],
      [PADDED, length, BLOCK, padding],
      [Flag.PRIORITY, priority(3), BLOCK],
      [PADDED | Flag.PRIORITY, length, priority(3), BLOCK, padding],
      [PADDED, Buffer.from([0]), BLOCK],
    ] as const) {
      const payload = Buffer.concat(parts);
      assert.deepEqual(callsOf(frame(HEADERS, flags | END_HEADERS, 5, payload)), ['HEADERS 5 a=b']);
      const last = frame(HEADERS, flags | END_HEADERS | END_STREAM, 5, payload);
      assert.deepEqual(callsOf(last), ['HEADERS 5 a=b end']);
    }
    // Padding or a dependency, and nothing else.
    for (const [flags, payload] of [
      [PADDED, Buffer.from([2, 0, 0])],
      [Flag.PRIORITY, priority(3)],
    ] as const) {
      assert.deepEqual(callsOf(frame(HEADERS, flags | END_HEADERS, 5, payload)), ['HEADERS 5 ']);
    }
  });

  test('may be divided anywhere (RFC 9113 §4.3)', () => {
    const whole = Buffer.concat([BLOCK, AGAIN]);
    for (let at = 0; at <= whole.length; at++) {
      for (const flags of [0, Flag.END_STREAM]) {
        const calls = callsOf(
          frame(HEADERS, flags, 5, whole.subarray(0, at)),
          frame(CONTINUATION, 0, 5, whole.subarray(at, at + 2)),
          frame(CONTINUATION, Flag.END_HEADERS, 5, whole.subarray(at + 2)),
          SETTINGS_ACK,
        );
        assert.deepEqual(calls, [`HEADERS 5 a=b c=d${flags ? ' end' : ''}`, 'SETTINGS ACK']);
      }
    }
  });

  test('has at most the limit of CONTINUATION frames', () => {
    const empty = (count: number): Buffer[] =>
      Array.from({ length: count }, () => frame(CONTINUATION, 0, 5));
    const last = frame(CONTINUATION, Flag.END_HEADERS, 5, BLOCK);
    const head = frame(HEADERS, 0, 5);
    assert.deepEqual(callsOf(head, ...empty(CONTINUATION_LIMIT - 1), last), ['HEADERS 5 a=b']);
    assert.equal(
      errorOf(head, ...empty(CONTINUATION_LIMIT), last),
      'ENHANCE_YOUR_CALM: a header block is too large',
    );
  });

  test('has at most the limit of octets', () => {
    const parts = HEADER_BLOCK_LIMIT / FRAME_LIMIT;
    const block = Buffer.alloc(FRAME_LIMIT, 0x82); // :method GET
    const head = frame(HEADERS, 0, 5, block);
    const more = Array.from({ length: parts - 1 }, () => frame(CONTINUATION, 0, 5, block));
    const end = (octets: number): Buffer =>
      frame(CONTINUATION, Flag.END_HEADERS, 5, Buffer.alloc(octets, 0x82));
    assert.deepEqual(callsOf(head, ...more, end(0)), ['HEADERS 5 ENHANCE_YOUR_CALM']);
    assert.equal(errorOf(head, ...more, end(1)), 'ENHANCE_YOUR_CALM: a header block is too large');
  });

  test('with too many fields is passed on as the error of its stream', () => {
    const block = Buffer.alloc(FIELD_LIMIT + 1, 0x82);
    assert.deepEqual(callsOf(frame(HEADERS, Flag.END_HEADERS, 5, block)), [
      'HEADERS 5 ENHANCE_YOUR_CALM',
    ]);
  });

  test('is not interrupted, and is continued on its stream alone (RFC 9113 §4.3, §6.10)', () => {
    const interrupted = 'PROTOCOL_ERROR: a header block is interrupted, or has no beginning';
    const head = frame(HEADERS, 0, 5, BLOCK);
    for (const next of [
      frame(PING, 0, 0, Buffer.alloc(8)),
      frame(DATA, 0, 5),
      frame(0x42, 0, 5),
      SETTINGS_ACK,
      frame(HEADERS, Flag.END_HEADERS, 5, BLOCK),
      frame(CONTINUATION, Flag.END_HEADERS, 7),
    ]) {
      assert.equal(errorOf(head, next), interrupted);
    }
    const last = frame(CONTINUATION, Flag.END_HEADERS, 5);
    assert.equal(errorOf(last), interrupted);
    assert.equal(errorOf(head, last, last), interrupted);
  });
});

/** Frames whose form is invalid, and the reason that the peer is given (RFC 9113 §6). */
const INVALID: Readonly<Record<string, readonly Uint8Array[]>> = {
  'PROTOCOL_ERROR: DATA on a wrong stream': [frame(DATA, 0, 0)],
  'PROTOCOL_ERROR: HEADERS on a wrong stream': [frame(HEADERS, Flag.END_HEADERS, 0, BLOCK)],
  'FRAME_SIZE_ERROR: HEADERS has a wrong length': [
    frame(HEADERS, Flag.END_HEADERS | Flag.PADDED, 1),
    frame(HEADERS, Flag.END_HEADERS | Flag.PRIORITY, 1, Buffer.alloc(4)),
    // The length of the padding is none of the five octets of a priority.
    frame(HEADERS, Flag.END_HEADERS | Flag.PRIORITY | Flag.PADDED, 1, Buffer.alloc(5)),
  ],
  'PROTOCOL_ERROR: a dependency on a wrong stream': [
    frame(HEADERS, Flag.END_HEADERS | Flag.PRIORITY, 5, priority(5)),
    frame(PRIORITY, 0, 5, priority(5)),
  ],
  'PROTOCOL_ERROR: the padding is longer than the frame': [
    frame(HEADERS, Flag.END_HEADERS | Flag.PADDED, 1, Buffer.from([1])),
    frame(HEADERS, Flag.END_HEADERS | Flag.PADDED, 1, Buffer.from([3, 0, 0])),
    frame(
      HEADERS,
      Flag.END_HEADERS | Flag.PADDED | Flag.PRIORITY,
      1,
      Buffer.concat([Buffer.from([1]), priority(3)]),
    ),
  ],
  'PROTOCOL_ERROR: PRIORITY on a wrong stream': [frame(PRIORITY, 0, 0, priority(3))],
  'FRAME_SIZE_ERROR: PRIORITY has a wrong length': [
    frame(PRIORITY, 0, 1, Buffer.alloc(4)),
    frame(PRIORITY, 0, 1, Buffer.alloc(6)),
  ],
  'PROTOCOL_ERROR: RST_STREAM on a wrong stream': [frame(RST_STREAM, 0, 0, uint32(8))],
  'FRAME_SIZE_ERROR: RST_STREAM has a wrong length': [
    frame(RST_STREAM, 0, 1, Buffer.alloc(3)),
    frame(RST_STREAM, 0, 1, Buffer.alloc(5)),
  ],
  'PROTOCOL_ERROR: SETTINGS on a wrong stream': [frame(SETTINGS, 0, 1), frame(SETTINGS, 1, 1)],
  'FRAME_SIZE_ERROR: SETTINGS with ACK has a wrong length': [
    frame(SETTINGS, Flag.ACK, 0, Buffer.alloc(6)),
  ],
  'PROTOCOL_ERROR: PUSH_PROMISE, which is disabled': [frame(PUSH_PROMISE, 4, 1, uint32(2))],
  'PROTOCOL_ERROR: PING on a wrong stream': [frame(PING, 0, 1, Buffer.alloc(8))],
  'FRAME_SIZE_ERROR: PING has a wrong length': [
    frame(PING, 0, 0, Buffer.alloc(7)),
    frame(PING, 0, 0, Buffer.alloc(9)),
  ],
  'PROTOCOL_ERROR: GOAWAY on a wrong stream': [frame(GOAWAY, 0, 1, Buffer.alloc(8))],
  'FRAME_SIZE_ERROR: GOAWAY has a wrong length': [frame(GOAWAY, 0, 0, Buffer.alloc(7))],
  'FRAME_SIZE_ERROR: WINDOW_UPDATE has a wrong length': [
    frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(3)),
    frame(WINDOW_UPDATE, 0, 0, Buffer.alloc(5)),
  ],
  'COMPRESSION_ERROR: a field has an index beyond the tables': [
    frame(HEADERS, Flag.END_HEADERS, 1, Buffer.from([0x80])),
  ],
};

for (const [error, frames] of Object.entries(INVALID)) {
  test(`an invalid frame ends the connection with ${error}, and is not passed on`, () => {
    for (const bytes of frames) {
      const { calls, error: actual } = receive(Buffer.concat([FIRST, bytes]));
      assert.equal(actual, error);
      assert.deepEqual(calls, ['SETTINGS 0']);
    }
  });
}
