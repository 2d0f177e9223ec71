import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { decodeSettings } from '../../../src/http3/connection.ts';
import { connectionError, Http3Error, http3ErrorName } from '../../../src/http3/errors.ts';
import {
  FrameReader,
  frameHead,
  type FrameSink,
  type Payload,
  varintFrame,
} from '../../../src/http3/frames.ts';
import { BUFFERED_FIELDS_LIMIT } from '../../../src/limits.ts';
import {
  FieldBudget,
  Http3RequestReader,
  Http3ResponseReader,
} from '../../../src/http3/request-stream.ts';
import { chunksOf, cuts, nearly } from '../../../../../test/support/data/chunks.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** Writes down what it is given. */
class Recording implements FrameSink {
  readonly frames: string[] = [];
  readonly #payload: Payload;

  constructor(payload: Payload) {
    this.#payload = payload;
  }

  onFrame(type: number, length: number): Payload {
    this.frames.push(`${type}/${length}`);
    return this.#payload;
  }

  onPayload(_type: number, payload: Uint8Array): undefined {
    this.frames.push(Buffer.from(payload).toString('hex'));
  }
}

function framesOf(chunks: readonly Uint8Array[], payload: Payload): string[] {
  const sink = new Recording(payload);
  const reader = new FrameReader(sink);
  for (const chunk of chunks) assert.equal(reader.feed(chunk), undefined);
  if (reader.end() !== undefined) sink.frames.push('truncated');
  return sink.frames;
}

test('frames are the same however their bytes are divided', () => {
  const whole = hex('0003 aabbcc 4021 02 0102 07 00 80000401 05 0102030405');
  const expected = ['0/3', 'aabbcc', '33/2', '0102', '7/0', '', '1025/5', '0102030405'];
  fc.assert(
    fc.property(cuts, (at) => {
      assert.deepEqual(framesOf(chunksOf(whole, at), 'whole'), expected);
    }),
  );
});

test('memory for a payload follows what has come of it, not its announced length', () => {
  const readers = Array.from({ length: 512 }, () => new FrameReader(new Recording('whole')));
  const before = process.memoryUsage().arrayBuffers;
  // HEADERS of 16,383 bytes, of which one has come.
  for (const reader of readers) assert.equal(reader.feed(hex('01 7fff aa')), undefined);
  const taken = process.memoryUsage().arrayBuffers - before;
  assert.ok(taken < readers.length * 2048, `${taken} bytes`);
});

test('a payload in pieces is passed on as it comes', () => {
  assert.deepEqual(framesOf([hex('0003aa'), hex('bbcc')], 'pieces'), ['0/3', 'aa', 'bbcc']);
});

test('a payload that arrives at once is passed on in the memory that it arrived in', () => {
  const payloads: Uint8Array[] = [];
  const sink: FrameSink = {
    onFrame: () => 'whole',
    onPayload: (_type, payload) => void payloads.push(payload),
  };
  const bytes = hex('0102aabb');
  new FrameReader(sink).feed(bytes);
  const [payload] = payloads;
  assert.deepEqual([payload?.buffer, payload?.byteOffset], [bytes.buffer, bytes.byteOffset + 2]);
});

test('a payload that is dropped is not passed on, and what follows it is read', () => {
  for (const size of [1, 2, 100]) {
    const bytes = hex('0003aabbcc 2100 0702ddee');
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    assert.deepEqual(framesOf(chunks, 'dropped'), ['0/3', '33/0', '7/2']);
  }
});

test('an empty payload is passed on where payloads are collected, and is no piece', () => {
  assert.deepEqual(framesOf([hex('0000 0100')], 'whole'), ['0/0', '', '1/0', '']);
  assert.deepEqual(framesOf([hex('0000 0100')], 'pieces'), ['0/0', '1/0']);
});

test('nothing of a frame is passed on after the release, and those behind it are', () => {
  for (const payload of ['whole', 'pieces'] as const) {
    const sink = new Recording(payload);
    const reader = new FrameReader(sink);
    reader.feed(hex('0003aa'));
    reader.release();
    const before = sink.frames.length;
    assert.equal(reader.feed(hex('bbcc')), undefined);
    assert.deepEqual(sink.frames.slice(before), []);
    reader.feed(hex('0701dd'));
    assert.deepEqual(sink.frames.slice(before), ['7/1', 'dd']);
  }
});

test('an error of the sink ends the reading at once, in a head or in a payload', () => {
  const error = connectionError('H3_FRAME_UNEXPECTED', 'a test');
  for (const where of ['head', 'piece', 'whole', 'collected'] as const) {
    const taken: string[] = [];
    const sink: FrameSink = {
      onFrame: (type) => {
        taken.push(`head ${type}`);
        return where === 'head' ? error : where === 'piece' ? 'pieces' : 'whole';
      },
      onPayload: (type) => {
        taken.push(`payload ${type}`);
        return error;
      },
    };
    const reader = new FrameReader(sink);
    const bytes = hex('0002aabb 0701cc');
    const split = where === 'collected' ? 3 : 0;
    assert.equal(reader.feed(bytes.subarray(0, split)), undefined);
    assert.equal(reader.feed(bytes.subarray(split)), error);
    assert.deepEqual(taken, where === 'head' ? ['head 0'] : ['head 0', 'payload 0'], where);
  }
});

test('the head of a frame is its type and its length, in the fewest octets', () => {
  for (const [type, length, expected] of [
    [0x00, 0, '0000'],
    [0x01, 63, '013f'],
    [0x01, 64, '014040'],
    [0x21, 16_384, '2180004000'],
    [0x40, 2 ** 30, '4040c000000040000000'],
    [0x4000, 1, '8000400001'],
  ] as const) {
    assert.equal(Buffer.from(frameHead(type, length)).toString('hex'), expected);
  }
});

test('a frame of one integer has the length of that integer (RFC 9114 §7.2.6)', () => {
  for (const [type, value, expected] of [
    [0x07, 0, '070100'],
    [0x07, 64, '07024040'],
    [0x0d, 16_384, '0d0480004000'],
    [0x07, 2 ** 53 - 1, '0708c01fffffffffffff'],
    [0x41, 1, '40410101'],
  ] as const) {
    assert.equal(Buffer.from(varintFrame(type, value)).toString('hex'), expected);
  }
});

test('a stream that ends within a frame is truncated', () => {
  for (const text of ['00', '40', '0003aabb', '21ff']) {
    assert.equal(framesOf([hex(text)], 'dropped').at(-1), 'truncated');
  }
  assert.deepEqual(framesOf([], 'dropped'), []);
});

test('a type and a length above 2^53 - 1 are read without loss of precision', () => {
  assert.deepEqual(framesOf([hex('ffffffffffffffff ffffffffffffffff 00')], 'dropped'), [
    'Infinity/Infinity',
    'truncated',
  ]);
});

const settingsError = (text: string): string => {
  const result = decodeSettings(hex(text));
  return result instanceof Http3Error ? http3ErrorName(result.code) : 'accepted';
};

test('settings: unknown identifiers are ignored, whatever their value', () => {
  assert.equal(settingsError(''), 'accepted');
  assert.equal(settingsError('0140640650000740 64 3301 0801'), 'accepted');
  assert.equal(settingsError('4021 ffffffffffffffff ffffffffffffffff 01'), 'accepted');
  // Two identifiers that are not the same, both above 2^53 - 1.
  assert.equal(settingsError('fffffffffffffffe 01 ffffffffffffffff 01'), 'accepted');
});

test('settings: those of HTTP/2, repeated ones and flags above 1 are H3_SETTINGS_ERROR', () => {
  for (const text of ['0000', '0201', '0300', '0400', '0500', '06000600', '3302', '0802']) {
    assert.equal(settingsError(text), 'H3_SETTINGS_ERROR', text);
  }
});

test('settings: a payload that ends within a setting is H3_FRAME_ERROR', () => {
  for (const text of ['06', '0640', '40', '06000140']) {
    assert.equal(settingsError(text), 'H3_FRAME_ERROR', text);
  }
});

test('a reader that failed or was released has returned its share of the budget', () => {
  const budget = new FieldBudget(BUFFERED_FIELDS_LIMIT);
  fc.assert(
    fc.property(nearly(hex('01 20 0000 d1'), hex('01 7fff 0000'), hex('00 01 00')), (bytes) => {
      const reader = new Http3RequestReader(budget);
      reader.feed(bytes);
      reader.release();
      assert.ok(budget.take(BUFFERED_FIELDS_LIMIT));
      budget.give(BUFFERED_FIELDS_LIMIT);
    }),
  );
});

test('a request that waits for its body keeps its share, and an interim response returns it', () => {
  const budget = new FieldBudget(100);
  const waiting = new Http3RequestReader(budget);
  // :method POST, :scheme https, :authority a, :path /, content-length 1
  assert.equal(waiting.feed(hex('01 0b 0000 d4 d7 500161 c1 540131')), undefined);
  assert.equal(waiting.state, 'body');
  assert.ok(budget.take(89) && !budget.take(1));
  waiting.release();
  assert.ok(budget.take(11) && !budget.take(1));
  budget.give(100);
  const response = new Http3ResponseReader(budget);
  for (let round = 0; round < 3; round++) {
    assert.equal(response.feed(hex('01 04 0000 ff00')), undefined); // :status 100
  }
  assert.ok(budget.take(100));
});

test('error codes have the names of RFC 9114 and RFC 9204', () => {
  assert.equal(http3ErrorName(0x10e), 'H3_MESSAGE_ERROR');
  assert.equal(http3ErrorName(0x202), 'QPACK_DECODER_STREAM_ERROR');
  assert.equal(http3ErrorName(0x77), '0x77');
});
