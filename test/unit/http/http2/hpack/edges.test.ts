import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldSize, type HttpField } from '../../../../../src/http/fields/field.ts';
import { Http2Error } from '../../../../../src/http/http2/errors.ts';
import { HpackDecoder } from '../../../../../src/http/http2/hpack/decoder.ts';
import { DynamicTable } from '../../../../../src/http/http2/hpack/dynamic-table.ts';
import { HpackEncoder } from '../../../../../src/http/http2/hpack/encoder.ts';
import { FIELD_LIMIT, HEADER_LIST_LIMIT } from '../../../../../src/http/http2/limits.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** A field `a` with a value of one character, without indexing: 34 bytes by the count of RFC 7541 §4.1. */
const SMALL = hex('00 01 61 01 62');

const repeated = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => SMALL));

test('a list of the most fields is decoded, one more fails its stream', () => {
  const decoder = new HpackDecoder();
  const fields = decoder.decode(repeated(FIELD_LIMIT));
  assert.ok(!(fields instanceof Http2Error));
  assert.equal(fields.length, FIELD_LIMIT);
  const error = decoder.decode(repeated(FIELD_LIMIT + 1));
  assert.ok(error instanceof Http2Error);
  assert.deepEqual([error.scope, error.name], ['stream', 'ENHANCE_YOUR_CALM']);
});

test('a list of the largest size is decoded, a byte more fails its stream', () => {
  const listOf = (bytes: number): HttpField[] => [
    { name: 'x', value: 'v'.repeat(bytes - fieldSize('x', '')) },
  ];
  const decode = (bytes: number): readonly HttpField[] | Http2Error => {
    const encoder = new HpackEncoder();
    return new HpackDecoder().decode(encoder.encode(listOf(bytes)));
  };
  assert.deepEqual(decode(HEADER_LIST_LIMIT), listOf(HEADER_LIST_LIMIT));
  const error = decode(HEADER_LIST_LIMIT + 1);
  assert.ok(error instanceof Http2Error);
  assert.deepEqual([error.scope, error.name], ['stream', 'ENHANCE_YOUR_CALM']);
});

test('an equal block is decoded anew once the table has changed', () => {
  const decoder = new HpackDecoder();
  const newest = hex('be');
  decoder.decode(hex('40 01 61 01 62'));
  assert.deepEqual(decoder.decode(newest), [{ name: 'a', value: 'b' }]);
  assert.deepEqual(decoder.decode(newest), [{ name: 'a', value: 'b' }]);
  decoder.decode(hex('40 01 63 01 64'));
  assert.deepEqual(decoder.decode(newest), [{ name: 'c', value: 'd' }]);
});

test('a block that adds to the table does so each time', () => {
  const decoder = new HpackDecoder();
  for (const entries of [1, 2, 3]) {
    decoder.decode(hex('40 01 61 01 62'));
    assert.equal(decoder.tableSize, entries * 34);
  }
});

test('an error is not remembered for an equal block', () => {
  const decoder = new HpackDecoder();
  const block = hex('be');
  assert.ok(decoder.decode(block) instanceof Http2Error);
  decoder.decode(hex('40 01 61 01 62'));
  assert.deepEqual(decoder.decode(block), [{ name: 'a', value: 'b' }]);
});

test('the last static and the first dynamic entry have neighbouring indices', () => {
  const decoder = new HpackDecoder();
  decoder.decode(hex('40 01 61 01 62'));
  assert.deepEqual(decoder.decode(hex('bd be')), [
    { name: 'www-authenticate', value: '' },
    { name: 'a', value: 'b' },
  ]);
});

test('an entry of the size of the table is indexed, a larger one is not', () => {
  const encoder = new HpackEncoder();
  const decoder = new HpackDecoder();
  encoder.limit(100);
  const fitting = [{ name: 'x', value: 'v'.repeat(100 - fieldSize('x', '')) }];
  assert.deepEqual(decoder.decode(encoder.encode(fitting)), fitting);
  assert.deepEqual([encoder.tableSize, decoder.tableSize], [100, 100]);
  const larger = [{ name: 'x', value: 'v'.repeat(101 - fieldSize('x', '')) }];
  assert.deepEqual(decoder.decode(encoder.encode(larger)), larger);
  assert.deepEqual([encoder.tableSize, decoder.tableSize], [100, 100]);
});

test('a table keeps its newest entries through any number of evictions', () => {
  const KEPT = 5;
  const table = new DynamicTable(KEPT * fieldSize('n', '000'));
  const valueOf = (number: number): string => String(number).padStart(3, '0');
  for (let number = 0; number < 200; number++) {
    const { generation } = table;
    table.insert({ name: 'n', value: valueOf(number) });
    assert.ok(table.generation > generation);
    const count = Math.min(number + 1, KEPT);
    assert.equal(table.count, count);
    assert.equal(table.at(count), undefined);
    for (let place = 0; place < count; place++) {
      const value = valueOf(number - place);
      assert.equal(table.at(place)?.value, value);
      assert.deepEqual(table.find('n', value), { place, isWhole: true });
    }
    assert.deepEqual(table.find('n', 'other'), { place: 0, isWhole: false });
    assert.equal(table.find('m', '000'), undefined);
  }
});
