import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ProtocolError } from '@weir/io';
import { encodeHunks, HunkDecoder } from '../../../../src/transports/grpc/hunks.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

function outcome(chunks: readonly Uint8Array[]): string {
  const decoder = new HunkDecoder();
  const out: Uint8Array[] = [];
  try {
    for (const chunk of chunks) out.push(...decoder.push(chunk));
  } catch (error) {
    assert.ok(error instanceof ProtocolError, String(error));
    return error.message;
  }
  return `${Buffer.concat(out).toString('hex')} ${decoder.atBoundary ? 'whole' : 'open'}`;
}

test('a hunk is a length-prefixed message with one field', () => {
  assert.deepEqual(Buffer.concat(encodeHunks(Buffer.from('hi'))), hex('00 00000004 0a 02 68 69'));
  assert.deepEqual(encodeHunks(new Uint8Array(0)), []);
});

test('the length of a hunk takes the bytes that it needs, also where they are full', () => {
  for (const [length, header] of [
    [127, '00 00000081 0a 7f'],
    [128, '00 00000083 0a 8001'],
    [16_383, '00 00004002 0a ff7f'],
    [16_384, '00 00004004 0a 808001'],
  ] as const) {
    assert.deepEqual(encodeHunks(Buffer.alloc(length)), [hex(header), Buffer.alloc(length)]);
  }
});

test('a long chunk is several messages, each below what libraries take', () => {
  const chunk = Buffer.alloc((5 << 20) + 3, 7);
  const pieces = encodeHunks(chunk);
  assert.equal(pieces.length, 12);
  assert.ok(pieces.every(({ length }) => length <= 1 << 20));
  assert.equal(outcome(pieces), `${chunk.toString('hex')} whole`);
});

const READ: readonly [what: string, bytes: string, expected: string][] = [
  ['several fields of one message', '00 00000007 0a 02 6869 0a 01 21', '686921 whole'],
  ['an empty message', '00 00000000', ' whole'],
  ['an empty field', '00 00000002 0a 00', ' whole'],
  ['a field of another number', '00 00000007 12 02 ffff 0a 01 68', '68 whole'],
  ['a varint of another number', '00 00000006 10 ff 01 0a 01 68', '68 whole'],
  ['numbers of fixed size', '00 00000011 11 0102030405060708 15 01020304 0a 01 68', '68 whole'],
  ['a length in more bytes than it needs', '00 00000004 0a 81 00 68', '68 whole'],
  ['a length in ten bytes', `00 0000000d 0a 82 ${'80 '.repeat(8)} 00 6869`, '6869 whole'],
  ['half a message', '00 00000004 0a 02 68', '68 open'],
  ['half a prefix', '00 0000', ' open'],
];
for (const [what, bytes, expected] of READ) {
  test(`${what} is read`, () => assert.equal(outcome([hex(bytes)]), expected));
}

const BROKEN: readonly [what: string, bytes: string, message: RegExp][] = [
  ['a compressed message', '01 00000000', /compressed/],
  ['a field longer than its message', '00 00000003 0a 02 68', /longer than its message/],
  ['a message that ends in a tag', '00 00000001 8a', /longer than its message/],
  ['a message that ends before a length', '00 00000001 0a', /longer than its message/],
  ['a group', '00 00000001 0b', /unknown type/],
  ['a number without an end', `00 00000020 0a ${'ff '.repeat(11)}`, /too long/],
];
for (const [what, bytes, message] of BROKEN) {
  test(`${what} is rejected`, () => assert.match(outcome([hex(bytes)]), message));
}

test('the length of a message costs nothing', () => {
  const decoder = new HunkDecoder();
  decoder.push(hex('00 ffffffff 0a f0 ff ff ff 0f'));
  for (let i = 0; i < 5; i++) {
    assert.deepEqual(decoder.push(Buffer.alloc(1000, i)), [Buffer.alloc(1000, i)]);
  }
});

function split(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

const splits = fc.array(fc.nat(), { maxLength: 12 });

test('the written bytes are read back, however they are split', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300, size: 'max' })), splits, (chunks, at) => {
      const bytes = Buffer.concat(chunks.flatMap(encodeHunks));
      assert.equal(outcome(split(bytes, at)), `${Buffer.concat(chunks).toString('hex')} whole`);
    }),
  );
});
