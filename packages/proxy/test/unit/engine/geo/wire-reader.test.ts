import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GeoFileError } from '../../../../src/engine/geo/geo-data.ts';
import { WireReader } from '../../../../src/engine/geo/wire-reader.ts';

const readerOf = (hex: string): WireReader =>
  new WireReader(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

test('fields of every wire type are read, and those of the wrong one are an error', () => {
  // Field 1 is the varint 150, 2 the text "hi", 3 has 8 bytes, 4 has 4, 5 is a message.
  const reader = readerOf('08 9601  12 02 6869  19 0102030405060708  25 01020304  2a 02 0803');
  assert.ok(reader.next());
  assert.deepEqual([reader.field, reader.number()], [1, 150]);
  for (const read of [() => reader.content(), () => reader.message(), () => reader.text()]) {
    assert.throws(read, GeoFileError);
  }
  assert.ok(reader.next());
  assert.deepEqual([reader.field, reader.text()], [2, 'hi']);
  assert.throws(() => reader.number(), GeoFileError);
  for (const [field, size] of [
    [3, 8],
    [4, 4],
  ] as const) {
    assert.ok(reader.next());
    assert.deepEqual([reader.field, reader.end - reader.start], [field, size]);
    assert.throws(() => reader.content(), GeoFileError);
  }
  assert.ok(reader.next());
  const inner = reader.message();
  assert.ok(inner.next());
  assert.deepEqual([inner.field, inner.number()], [1, 3]);
  assert.equal(inner.next(), false);
  assert.equal(reader.next(), false);
});

test('a message that is invalid is a named error', () => {
  for (const [hex, message] of [
    ['00 01', /the number 0/],
    ['0b', /wire type 3/],
    ['0c', /wire type 4/],
    ['0e', /wire type 6/],
    ['0f', /wire type 7/],
    ['08', /number is truncated/],
    ['08 80', /number is truncated/],
    [`08 ${'80'.repeat(10)} 01`, /more than 10 bytes/],
    ['12 02 68', /beyond its message/],
    ['19 01020304050607', /beyond its message/],
    ['25 010203', /beyond its message/],
  ] as const) {
    assert.throws(() => readerOf(hex).next(), message, hex);
  }
  assert.ok(readerOf(`08 ${'80'.repeat(9)} 01`).next());
});

test('a message within other bytes ends where it was said to', () => {
  const reader = new WireReader(Buffer.from('ff08010801ff', 'hex'), 1, 3);
  assert.ok(reader.next());
  assert.equal(reader.next(), false);
});
