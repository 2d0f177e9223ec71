import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  applyMask,
  closePayload,
  copyMasked,
  frameHeader,
  Opcode,
  wholeFrame,
  WsFrameDecoder,
  type WsFrameEvent,
} from '../../../../src/transports/ws/frames.ts';

const KEY = Uint8Array.of(0x37, 0xfa, 0x21, 0x3d);
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** What comes out, with neighbouring data joined. */
function outcome(masked: boolean, chunks: readonly Uint8Array[], most?: number): unknown {
  const decoder = new WsFrameDecoder(masked);
  const out: string[] = [];
  let data = '';
  const flush = (): void => {
    if (data !== '') out.push(`data ${data}`);
    data = '';
  };
  const show = (event: WsFrameEvent): void => {
    if (event.kind === 'data') {
      data += Buffer.from(event.data).toString('hex');
      return;
    }
    flush();
    if (event.kind === 'ping') out.push(`ping ${Buffer.from(event.data).toString('hex')}`);
    else out.push(event.kind === 'invalid' ? event.error.message : event.kind);
  };
  for (const chunk of chunks) {
    for (let rest: Uint8Array | undefined = Buffer.from(chunk); rest; rest = decoder.rest) {
      decoder.push(rest, most).forEach(show);
      assert.ok(decoder.frames <= (most ?? Infinity));
    }
  }
  flush();
  return out;
}

test('the examples of RFC 6455 §5.7 are read', () => {
  const hello = Buffer.from('Hello').toString('hex');
  assert.deepEqual(outcome(false, [hex('81 05 48 65 6c 6c 6f')]), [`data ${hello}`]);
  assert.deepEqual(outcome(true, [hex('81 85 37 fa 21 3d 7f 9f 4d 51 58')]), [`data ${hello}`]);
  assert.deepEqual(outcome(false, [hex('01 03 48 65 6c 80 02 6c 6f')]), [`data ${hello}`]);
  assert.deepEqual(outcome(false, [hex('89 05 48 65 6c 6c 6f')]), [`ping ${hello}`]);
  assert.deepEqual(outcome(true, [hex('8a 85 37 fa 21 3d 7f 9f 4d 51 58')]), []);
});

test('the examples of RFC 6455 §5.7 are written', () => {
  assert.deepEqual(
    wholeFrame(Opcode.text, [Buffer.from('Hel'), Buffer.from('lo')], KEY),
    hex('81 85 37 fa 21 3d 7f 9f 4d 51 58'),
  );
  assert.deepEqual(
    wholeFrame(Opcode.text, [Buffer.from('Hel'), Buffer.from('lo')]),
    hex('81 05 48 65 6c 6c 6f'),
  );
  assert.deepEqual(frameHeader(Opcode.binary, 256), hex('82 7e 01 00'));
  assert.deepEqual(frameHeader(Opcode.binary, 65_536), hex('82 7f 00 00 00 00 00 01 00 00'));
});

test('lengths around the three encodings survive', () => {
  for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 70_001]) {
    const payload = Buffer.alloc(length, 0x5a);
    const frame = wholeFrame(Opcode.binary, [payload], KEY);
    const expected = length === 0 ? [] : [`data ${payload.toString('hex')}`];
    assert.deepEqual(outcome(true, [frame]), expected, String(length));
  }
});

test('frames whose lengths have different encodings follow each other', () => {
  const lengths = [65_536, 1, 126, 2, 65_536, 126];
  const payloads = lengths.map((length, i) => Buffer.alloc(length, i + 1));
  const frames = payloads.map((payload) => wholeFrame(Opcode.binary, [payload], KEY));
  assert.deepEqual(outcome(true, frames), [`data ${Buffer.concat(payloads).toString('hex')}`]);
});

test('a push may begin a number of frames, counts them, and leaves the rest', () => {
  const decoder = new WsFrameDecoder(false);
  const bytes = Buffer.concat([
    wholeFrame(Opcode.binary, [Buffer.from('ab')]),
    wholeFrame(Opcode.pong, [Buffer.from('x')]),
    wholeFrame(Opcode.binary, []),
    wholeFrame(Opcode.binary, [Buffer.from('cd')]),
  ]);
  decoder.push(bytes, 3);
  assert.deepEqual([decoder.frames, decoder.idleFrames], [3, 2]);
  assert.deepEqual(decoder.rest, wholeFrame(Opcode.binary, [Buffer.from('cd')]));
  assert.equal(decoder.isAtBoundary, true);
  decoder.push(hex('82 02 61'));
  assert.equal(decoder.isAtBoundary, false);
});

test('a control frame may have 125 bytes', () => {
  const payload = Buffer.alloc(125, 7);
  assert.deepEqual(outcome(false, [wholeFrame(Opcode.ping, [payload])]), [
    `ping ${payload.toString('hex')}`,
  ]);
});

test('a Close frame may have no code, or one of those that RFC 6455 §7.4 allows in frames', () => {
  assert.deepEqual(outcome(false, [hex('88 00')]), ['close']);
  const withCode = (code: number): unknown =>
    outcome(false, [wholeFrame(Opcode.close, [closePayload(code)])]);
  for (const code of [1000, 1003, 1007, 1014, 3000, 4999]) {
    assert.deepEqual(withCode(code), ['close'], String(code));
  }
  for (const code of [1004, 1006, 1015, 2999]) {
    assert.match(String(withCode(code)), /invalid code/, String(code));
  }
});

const BROKEN: readonly [what: string, masked: boolean, bytes: string, message: RegExp][] = [
  ['reserved bits', false, 'c2 01 00', /reserved bits/],
  ['an unknown data opcode', false, '83 01 00', /opcode 3/],
  ['an unknown control opcode', false, '8b 00', /opcode 11/],
  ['a fragmented ping', false, '09 00', /fragmented/],
  ['a ping of 126 bytes', false, '89 7e 00 7e', /too long/],
  ['a length in 16 bits that fits into 7', false, '82 7e 00 7d', /shortest form/],
  [
    'a length in 64 bits that fits into 16',
    false,
    '82 7f 00 00 00 00 00 00 ff ff',
    /shortest form/,
  ],
  ['a Close frame with a code that is reserved', false, '88 02 03 ed', /invalid code 1005/],
  ['a Close frame with a code below all others', false, '88 02 03 e7', /invalid code 999/],
  ['a Close frame with a code above all others', false, '88 02 13 88', /invalid code 5000/],
  ['a Close frame whose reason is not UTF-8', false, '88 03 03 e8 80', /not UTF-8/],
  ['a continuation of nothing', false, '80 01 00', /fragments/],
  ['a message inside a message', false, '02 01 00 82 01 00', /fragments/],
  ['a client without a mask', true, '82 01 00', /without a mask/],
  ['a server with a mask', false, '82 81 00 00 00 00 00', /server masked/],
  ['a length that no memory holds', false, '82 7f 80 00 00 00 00 00 00 00', /too long/],
  ['half a close code', false, '88 01 03', /half a code/],
];
for (const [what, masked, bytes, message] of BROKEN) {
  test(`${what} is rejected`, () => assert.match(String(outcome(masked, [hex(bytes)])), message));
}

test('nothing is read after a Close frame', () => {
  assert.deepEqual(outcome(false, [hex('88 02 03 e8 82 01 41'), hex('82 01 42')]), ['close']);
});

test('a frame of any length is handed on as it comes', () => {
  const decoder = new WsFrameDecoder(false);
  decoder.push(hex('82 7f 00 1f ff ff ff ff ff ff'));
  for (let i = 0; i < 10; i++) {
    const [event, ...more] = decoder.push(Buffer.alloc(1000, i));
    assert.ok(event?.kind === 'data' && more.length === 0);
    assert.equal(event.data.length, 1000);
  }
});

test('the short frames of one read come as one part, between its control frames', () => {
  const frames = Array.from({ length: 3000 }, (_, i) =>
    wholeFrame(i % 1000 === 500 ? Opcode.ping : Opcode.binary, [Buffer.of(i & 0xff)], KEY),
  );
  const large = Buffer.alloc(600, 7);
  const bytes = Buffer.concat([...frames, wholeFrame(Opcode.binary, [large], KEY)]);
  const events = new WsFrameDecoder(true).push(bytes);
  const shown = events.map((event) =>
    event.kind === 'data' ? event.data.length : event.kind === 'ping' ? 'ping' : 'close',
  );
  assert.deepEqual(shown, [500, 'ping', 999, 'ping', 999, 'ping', 499, 600]);
  const [first] = events;
  assert.ok(first?.kind === 'data');
  assert.deepEqual(
    [...first.data],
    [...Array(500).keys()].map((i) => i & 0xff),
  );
});

test('masking many bytes is masking each, at every alignment, in place and into a copy', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 400, size: 'max' }),
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.nat(7),
      fc.nat(3),
      (data, key, offset, phase) => {
        const room = new Uint8Array(offset + data.length);
        room.set(data, offset);
        const masked = room.subarray(offset);
        applyMask(masked, key, phase);
        const expected = data.map((byte, i) => byte ^ (key[(i + phase) & 3] ?? 0));
        assert.deepEqual(masked, expected);
        const copy = new Uint8Array(offset + data.length + 2).fill(7);
        copyMasked(data, key, copy.subarray(offset), phase);
        assert.deepEqual(copy.subarray(offset, offset + data.length), expected);
        assert.deepEqual(copy.subarray(offset + data.length), Uint8Array.of(7, 7));
      },
    ),
  );
});

const frames = fc.array(
  fc.record({
    opcode: fc.constantFrom(Opcode.binary, Opcode.text, Opcode.ping, Opcode.pong),
    payload: fc.uint8Array({ maxLength: 125, size: 'max' }),
  }),
  { maxLength: 8 },
);

/** Splits bytes at the given places. */
function split(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

test('any split of frames gives the same result', () => {
  fc.assert(
    fc.property(
      frames,
      fc.boolean(),
      fc.array(fc.nat(), { maxLength: 12 }),
      fc.integer({ min: 1, max: 4 }),
      (list, masked, at, most) => {
        const key = masked ? KEY : undefined;
        const bytes = Buffer.concat([
          ...list.map(({ opcode, payload }) => wholeFrame(opcode, [payload], key)),
          wholeFrame(Opcode.close, [closePayload(1000)], key),
        ]);
        assert.deepEqual(outcome(masked, split(bytes, at)), outcome(masked, [bytes]));
        assert.deepEqual(outcome(masked, [bytes], most), outcome(masked, [bytes]));
      },
    ),
  );
});
