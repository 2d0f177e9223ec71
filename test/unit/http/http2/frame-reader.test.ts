import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Http2Error } from '../../../../src/http/http2/errors.ts';
import { FrameReader, type FrameSink } from '../../../../src/http/http2/frame-reader.ts';
import { Flag, FrameType, PREFACE } from '../../../../src/http/http2/frames.ts';
import { FRAME_LIMIT } from '../../../../src/http/http2/limits.ts';
import { chunksOf, cuts } from '../../../support/data/chunks.ts';
import { frame } from '../../../support/http2/raw-frames.ts';

const { DATA, HEADERS, PING } = FrameType;

/** Writes down what it is given; DATA in one line, however many pieces it came in. */
class Recording implements FrameSink {
  readonly frames: string[] = [];
  readonly payloads: Uint8Array[] = [];
  /** Frames that this turn may still begin. */
  allowance = Infinity;
  #data = '';

  get isTurnSpent(): boolean {
    return this.allowance === 0;
  }

  onDataHeader(streamId: number, length: number, hasPadding: boolean): undefined {
    this.allowance--;
    this.#data = `DATA ${streamId} ${length}${hasPadding ? ' padded' : ''}`;
    this.frames.push(this.#data);
  }

  onData(piece: Uint8Array): void {
    assert.ok(piece.length > 0, 'no piece is empty');
    this.payloads.push(piece);
    this.frames.push(`${this.frames.pop()} ${Buffer.from(piece).toString()}`);
  }

  onDataEnd(endsStream: boolean): undefined {
    this.frames.push(endsStream ? 'end of the stream' : 'end');
  }

  onFrame(type: number, flags: number, streamId: number, payload: Uint8Array): undefined {
    this.allowance--;
    this.payloads.push(payload);
    this.frames.push(`${type} ${flags} ${streamId} ${Buffer.from(payload).toString()}`);
  }
}

function read(...chunks: readonly Uint8Array[]): Recording {
  const sink = new Recording();
  const reader = new FrameReader(sink, false);
  for (const chunk of chunks) assert.equal(reader.receive(chunk), undefined);
  return sink;
}

const nameOf = (error: Http2Error | undefined): string | undefined =>
  error && `${error.scope} ${error.name}`;

/** The error of a frame, if any, which is the same when its octets arrive one by one. */
function errorOf(bytes: Uint8Array): string | undefined {
  const whole = nameOf(new FrameReader(new Recording(), false).receive(bytes));
  const reader = new FrameReader(new Recording(), false);
  let single: Http2Error | undefined;
  for (let at = 0; at < bytes.length && !single; at++) {
    single = reader.receive(bytes.subarray(at, at + 1));
  }
  assert.equal(nameOf(single), whole);
  return whole;
}

const text = (content: string): Buffer => Buffer.from(content);
/** The payload of a padded frame. */
const padded = (content: string, padding: number): Buffer =>
  Buffer.concat([Buffer.from([padding]), text(content), Buffer.alloc(padding)]);

describe('frames of HTTP/2', () => {
  test('are the same however their bytes are divided', () => {
    const whole = Buffer.concat([
      frame(DATA, 0, 1, text('hello')),
      frame(PING, Flag.ACK, 0, text('12345678')),
      frame(DATA, Flag.PADDED | Flag.END_STREAM, 3, padded('abc', 4)),
      frame(HEADERS, Flag.END_HEADERS, 5),
      frame(DATA, Flag.PADDED, 7, padded('', 2)),
      frame(DATA, Flag.END_STREAM, 7),
      frame(0xbe, 0xef, 9, text('unknown')),
    ]);
    const expected = [
      'DATA 1 5 hello',
      'end',
      '6 1 0 12345678',
      'DATA 3 8 padded abc',
      'end of the stream',
      '1 4 5 ',
      'DATA 7 3 padded',
      'end',
      'DATA 7 0',
      'end of the stream',
      '190 239 9 unknown',
    ];
    const merged = (chunks: readonly Uint8Array[]): string => read(...chunks).frames.join('\n');
    // Pieces of DATA are joined by a space where they were divided.
    const joined = (all: string): string =>
      all.replaceAll(/^(DATA \d+ \d+(?: padded)?)(.*)$/gm, (_line, head: string, rest: string) =>
        rest === '' ? head : `${head} ${rest.replaceAll(' ', '')}`,
      );
    assert.equal(merged([whole]), expected.join('\n'));
    fc.assert(
      fc.property(cuts, (at) => {
        assert.equal(joined(merged(chunksOf(whole, at))), expected.join('\n'));
      }),
    );
    assert.equal(
      joined(merged(Array.from(whole, (byte) => Uint8Array.of(byte)))),
      expected.join('\n'),
    );
  });

  test('have a stream identifier of 31 bits: the bit above is ignored (RFC 9113 §4.1)', () => {
    for (const id of [1, 0x7fff_ffff, 0x0102_0304]) {
      const bytes = frame(PING, 0, id, text('12345678'));
      bytes.writeUInt8(bytes.readUInt8(5) | 0x80, 5);
      assert.deepEqual(read(bytes).frames, [`6 0 ${id} 12345678`]);
    }
  });

  test('of the longest payload are accepted, of one octet more are FRAME_SIZE_ERROR (RFC 9113 §4.2)', () => {
    for (const type of [DATA, HEADERS]) {
      assert.equal(errorOf(frame(type, 0, 1, Buffer.alloc(FRAME_LIMIT))), undefined);
      for (const length of [FRAME_LIMIT + 1, 1 << 16, (1 << 24) - 1]) {
        const head = Buffer.alloc(9);
        head.writeUIntBE(length, 0, 3);
        head.writeUInt8(type, 3);
        head.writeUInt8(1, 8);
        assert.equal(errorOf(head), 'connection FRAME_SIZE_ERROR', String(length));
      }
    }
    const [payload] = read(frame(HEADERS, 0, 1, Buffer.alloc(FRAME_LIMIT, 'x'))).payloads;
    assert.deepEqual(payload, Buffer.alloc(FRAME_LIMIT, 'x'));
  });

  test('other than DATA are passed on when they are complete, whatever came before in pieces', () => {
    const sink = new Recording();
    const reader = new FrameReader(sink, false);
    const [first, second] = [
      frame(PING, 0, 0, text('12345678')),
      frame(PING, 0, 0, text('87654321')),
    ];
    for (const bytes of [first, second]) {
      const before = sink.frames.length;
      reader.receive(bytes.subarray(0, 12));
      reader.receive(bytes.subarray(12, 16));
      assert.equal(sink.frames.length, before);
      reader.receive(bytes.subarray(16));
    }
    assert.deepEqual(sink.frames, ['6 0 0 12345678', '6 0 0 87654321']);
    // The first payload is not overwritten by the second.
    assert.deepEqual(sink.payloads.map(String), [
      '49,50,51,52,53,54,55,56',
      '56,55,54,53,52,51,50,49',
    ]);
  });

  test('of DATA are passed on as they arrive, in the memory that they arrived in', () => {
    const bytes = frame(DATA, 0, 1, text('hello, world'));
    const chunks = [bytes.subarray(0, 11), bytes.subarray(11, 15), bytes.subarray(15)];
    const { payloads } = read(...chunks);
    assert.deepEqual(
      payloads.map((piece) => [Buffer.from(piece).toString(), piece.byteOffset - bytes.byteOffset]),
      [
        ['he', 9],
        ['llo,', 11],
        [' world', 15],
      ],
    );
  });
});

describe('padding of DATA (RFC 9113 §6.1)', () => {
  test('without its length is FRAME_SIZE_ERROR', () => {
    assert.equal(errorOf(frame(DATA, Flag.PADDED, 1)), 'connection FRAME_SIZE_ERROR');
    assert.equal(errorOf(frame(DATA, 0, 1)), undefined);
  });

  test('as long as the rest of the frame leaves no data, a longer one is PROTOCOL_ERROR', () => {
    const withPadding = (padding: number): Buffer =>
      frame(DATA, Flag.PADDED, 1, Buffer.from([padding, 1, 2, 3]));
    assert.deepEqual(read(withPadding(3)).frames, ['DATA 1 4 padded', 'end']);
    assert.deepEqual(read(withPadding(2)).frames, ['DATA 1 4 padded \u0001', 'end']);
    for (const padding of [4, 5, 255]) {
      assert.equal(errorOf(withPadding(padding)), 'connection PROTOCOL_ERROR');
    }
  });

  test('of one frame does not shorten the next', () => {
    const bytes = Buffer.concat([
      frame(DATA, Flag.PADDED, 1, padded('a', 2)),
      frame(DATA, 0, 1, text('bcd')),
    ]);
    assert.deepEqual(read(bytes).frames, ['DATA 1 4 padded a', 'end', 'DATA 1 3 bcd', 'end']);
  });
});

describe('the preface of a client (RFC 9113 §3.4)', () => {
  const settings = frame(FrameType.SETTINGS, 0, 0);

  test('precedes the first frame, however it is divided', () => {
    assert.equal(String.fromCharCode(...PREFACE), 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    const whole = Buffer.concat([PREFACE, settings]);
    fc.assert(
      fc.property(cuts, (at) => {
        const sink = new Recording();
        const reader = new FrameReader(sink, true);
        for (const chunk of chunksOf(whole, at)) assert.equal(reader.receive(chunk), undefined);
        assert.deepEqual(sink.frames, ['4 0 0 ']);
      }),
    );
  });

  test('with any other octet is PROTOCOL_ERROR, as soon as that octet arrives', () => {
    for (const at of PREFACE.keys()) {
      const bytes = Buffer.from(PREFACE);
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      const reader = new FrameReader(new Recording(), true);
      assert.equal(reader.receive(bytes.subarray(0, at)), undefined);
      assert.equal(nameOf(reader.receive(bytes.subarray(at, at + 1))), 'connection PROTOCOL_ERROR');
    }
  });
});

describe('a turn that is spent', () => {
  const [first, second] = [frame(DATA, 0, 1, text('a')), frame(PING, 0, 0, text('12345678'))];

  test('leaves the next frame for another turn, which goes on where it ended', () => {
    const sink = new Recording();
    const reader = new FrameReader(sink, false);
    const bytes = Buffer.concat([first, second, second]);
    sink.allowance = 2;
    assert.equal(reader.receive(bytes), undefined);
    assert.equal(reader.taken, first.length + second.length);
    assert.deepEqual(sink.frames, ['DATA 1 1 a', 'end', '6 0 0 12345678']);
    sink.allowance = 1;
    reader.receive(bytes.subarray(reader.taken));
    assert.equal(reader.taken, second.length);
    assert.deepEqual(sink.frames.slice(3), ['6 0 0 12345678']);
  });

  test('does not hold back the rest of a frame that has begun', () => {
    const sink = new Recording();
    const reader = new FrameReader(sink, false);
    const bytes = frame(DATA, 0, 1, text('abc'));
    sink.allowance = 1;
    for (const chunk of [bytes.subarray(0, 10), bytes.subarray(10)]) {
      assert.equal(reader.receive(chunk), undefined);
      assert.equal(reader.taken, chunk.length);
    }
    assert.deepEqual(sink.frames, ['DATA 1 3 a bc', 'end']);
  });
});
