import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { encodeName, nameEnd, NameReader } from '../../../src/dns/names.ts';
import { ProtocolError } from '@weir/io';

const read = (bytes: Uint8Array, at = 0): string => new NameReader(Buffer.from(bytes)).at(at);

test('names are written as labels, and read in lower case', () => {
  assert.deepEqual(encodeName(''), Buffer.of(0));
  assert.equal(encodeName('www.a-b_c.example').toString('latin1'), '\x03www\x05a-b_c\x07example\0');
  assert.equal(read(Buffer.from('\x03WWW\x07Example\0', 'latin1')), 'www.example');
});

test('a dot within a label is not the end of it', () => {
  const bytes = Buffer.from('\x05a.b\\c\x01d\0', 'latin1');
  assert.equal(read(bytes), 'a\\.b\\\\c.d');
  assert.deepEqual(encodeName(read(bytes)), bytes);
});

test('every name survives reading and writing', () => {
  const label = fc.uint8Array({ minLength: 1, maxLength: 63, size: 'max' });
  fc.assert(
    fc.property(fc.array(label, { maxLength: 4 }), (labels) => {
      const lower = labels.map((each) =>
        Buffer.from(Buffer.from(each).toString('latin1').toLowerCase(), 'latin1'),
      );
      const bytes = Buffer.concat([
        ...lower.flatMap((each) => [Buffer.of(each.length), each]),
        Buffer.of(0),
      ]);
      if (bytes.length > 255) assert.throws(() => read(bytes), ProtocolError);
      else assert.deepEqual(encodeName(read(bytes)), bytes);
      assert.equal(nameEnd(bytes, 0), bytes.length);
    }),
  );
});

test('a pointer leads back, never to itself or ahead', () => {
  const name = Buffer.from('\x01a\0\x01b\xc0\x00', 'latin1');
  assert.equal(read(name, 3), 'b.a');
  for (const pointer of ['\xc0\x00', '\xc0\x02\0']) {
    assert.throws(() => read(Buffer.from(pointer, 'latin1')), ProtocolError);
  }
});
