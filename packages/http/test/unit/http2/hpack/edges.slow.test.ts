import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldSize, type HttpField } from '../../../../src/fields/field.ts';
import { Http2Error } from '../../../../src/http2/errors.ts';
import { HpackDecoder, DynamicTable, HpackEncoder } from '../../../../src/http2/hpack.ts';
import { FIELD_LIMIT, HEADER_LIST_LIMIT } from '../../../../src/limits.ts';
import { uncollected } from '../../../../../../test/support/process/uncollected.ts';

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

test('a block of up to 64 octets is remembered, and no longer one', () => {
  const decoder = new HpackDecoder();
  // A value of that length less the octets before it.
  const blockOf = (length: number): Buffer =>
    Buffer.concat([hex('00 01 61'), Buffer.from([length - 4]), Buffer.alloc(length - 4, 'v')]);
  assert.equal(decoder.decode(blockOf(64)), decoder.decode(blockOf(64)));
  assert.notEqual(decoder.decode(blockOf(65)), decoder.decode(blockOf(65)));
  assert.deepEqual(decoder.decode(blockOf(65)), [{ name: 'a', value: 'v'.repeat(61) }]);
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

test('entries that were evicted are not held', async () => {
  const KEPT = 100;
  const table = new DynamicTable(KEPT * fieldSize('n', '0000'));
  const fill = (): WeakRef<HttpField>[] =>
    Array.from({ length: 50 * KEPT }, (_, number) => {
      const field = { name: 'n', value: String(number).padStart(4, '0') };
      table.insert(field);
      return new WeakRef(field);
    });
  const left = await uncollected(fill());
  assert.equal(table.count, KEPT);
  // Those in the table, and evicted ones that are fewer.
  assert.ok(left.length >= KEPT && left.length <= 2 * KEPT + 1, `${left.length} entries`);
});

test('a change of the table size is announced once, before the next block (RFC 7541 §4.2)', () => {
  const fields = [{ name: ':method', value: 'GET' }];
  const encoder = new HpackEncoder();
  const next = (): string => Buffer.from(encoder.encode(fields)).toString('hex');
  assert.deepEqual([next(), next()], ['82', '82']);
  encoder.limit(100);
  assert.deepEqual([next(), next()], ['3f4582', '82']);
  // The least size on the way as well.
  encoder.limit(10);
  encoder.limit(20);
  encoder.limit(90);
  assert.deepEqual([next(), next()], ['2a3f3b82', '82']);
  encoder.limit(20);
  encoder.limit(10);
  assert.deepEqual([next(), next()], ['2a82', '82']);
});

test('a limit of the peer that changes nothing is not announced', () => {
  const fields = [{ name: ':method', value: 'GET' }];
  const encoder = new HpackEncoder();
  // The initial size; and more than this side has use for.
  for (const limit of [4096, 4097, 2 ** 32 - 1]) {
    encoder.limit(limit);
    assert.equal(Buffer.from(encoder.encode(fields)).toString('hex'), '82');
  }
});

test('the blocks of eight lists are kept, with a ninth those before it are encoded again', () => {
  const encoder = new HpackEncoder();
  const lists = Array.from({ length: 9 }, () => [{ name: ':method', value: 'GET' }]);
  const first = lists.slice(0, 8).map((list) => encoder.encode(list));
  for (const [at, block] of first.entries()) {
    assert.equal(encoder.encode(lists[at] as HttpField[]), block);
  }
  const ninth = encoder.encode(lists[8] as HttpField[]);
  assert.equal(encoder.encode(lists[8] as HttpField[]), ninth);
  assert.notEqual(encoder.encode(lists[0] as HttpField[]), first[0]);
});
