import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Http2Error } from '../../../../src/http2/errors.ts';
import { HpackDecoder, HpackEncoder } from '../../../../src/http2/hpack.ts';
import {
  DECODER_TABLE_BYTES,
  FIELD_LIMIT,
  HEADER_BLOCK_LIMIT,
  HEADER_LIST_LIMIT,
} from '../../../../src/limits.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** Blocks that do not decode, and the reason that the peer is given. */
const INVALID: Readonly<Record<string, readonly string[]>> = {
  // Index 0, one behind the tables, an index without its end, and one above 2^53 - 1.
  'a field has an index beyond the tables': ['80', 'be', 'ff', 'ff ffffffffffffffffff01'],
  'a field has an invalid index': [
    '7f',
    '0f 80',
    '1f',
    '7f c1ffffffffffff0f',
    '0f ffffffffffffffff',
  ],
  'a field name has an index beyond the tables': [
    '7e 0161',
    '0f2f 0161',
    '7f c0ffffffffffff0f 0161',
  ],
  'a field name is malformed': [
    '40',
    '00',
    '40 05 6162',
    '40 03 6162',
    '00 7f',
    '00 7f ffffffffffffff0f',
    '40 81 00 0161',
  ],
  'a field value is malformed': [
    '40 0161',
    '40 0161 05 62',
    '40 0161 02 62',
    '41 7f',
    // Huffman code with EOS, and with more padding than seven bits.
    '40 0161 84 ffffffff',
    '40 0161 83 64ffff',
    '40 0161 81 ff',
  ],
  'a table size update exceeds the limit': ['3f e21f', '3f', '3f 80', '3f ffffffffffffffff'],
  'a table size update follows a field': ['82 20', '20 82 20', '00 0161 0162 3f e11f'],
};

for (const [reason, blocks] of Object.entries(INVALID)) {
  test(`a header block is COMPRESSION_ERROR because ${reason}`, () => {
    for (const block of blocks) {
      const error = new HpackDecoder().decode(hex(block));
      assert.ok(error instanceof Http2Error, block);
      assert.deepEqual(
        [error.scope, error.name, error.reason],
        ['connection', 'COMPRESSION_ERROR', reason],
        block,
      );
    }
  });
}

test('an entry larger than the table empties it, and is no error', () => {
  const decoder = new HpackDecoder();
  decoder.decode(hex('40 01 61 01 62'));
  assert.equal(decoder.tableSize, 34);
  const large = Buffer.concat([hex('40 01 63 7f 81 1f'), Buffer.alloc(4096, 'x')]);
  const fields = decoder.decode(large);
  assert.ok(Array.isArray(fields));
  assert.equal(decoder.tableSize, 0);
});

test('a smaller table evicts at once what no longer fits', () => {
  const decoder = new HpackDecoder();
  decoder.decode(hex('40 01 61 01 62'));
  assert.deepEqual(decoder.decode(hex('3f 03 be')), [{ name: 'a', value: 'b' }], 'of 34 octets');
  assert.deepEqual(decoder.decode(hex('3f 02')), []);
  assert.equal(decoder.tableSize, 0);
  assert.ok(decoder.decode(hex('be')) instanceof Http2Error);
});

test('a list beyond the limits fails its stream, and leaves the table as the peer has it', () => {
  const decoder = new HpackDecoder();
  for (const fields of [
    Array.from({ length: FIELD_LIMIT + 1 }, () => ({ name: 'a', value: 'b' })),
    [{ name: 'a', value: 'b'.repeat(HEADER_LIST_LIMIT) }],
  ]) {
    const encoder = new HpackEncoder();
    encoder.limit(0);
    const error = decoder.decode(encoder.encode(fields));
    assert.ok(error instanceof Http2Error);
    assert.deepEqual([error.scope, error.name], ['stream', 'ENHANCE_YOUR_CALM']);
  }
  const [from, to] = [new HpackEncoder(), new HpackDecoder()];
  const many = Array.from({ length: 100 }, (_, i) => ({ name: `n-${i}`, value: 'v' }));
  assert.ok(to.decode(from.encode(many)) instanceof Http2Error);
  assert.deepEqual(to.decode(from.encode([{ name: 'n-99', value: 'v' }])), [
    { name: 'n-99', value: 'v' },
  ]);
});

test('a block that names one large entry again and again keeps no more than the limit', () => {
  const decoder = new HpackDecoder();
  const value = DECODER_TABLE_BYTES - 33;
  const entry = Buffer.concat([
    hex('40 01 61 7f'),
    Buffer.from([((value - 127) & 0x7f) | 0x80, (value - 127) >> 7]),
    Buffer.alloc(value, 'x'),
  ]);
  assert.ok(Array.isArray(decoder.decode(entry)));
  const error = decoder.decode(Buffer.alloc(HEADER_BLOCK_LIMIT, 0xbe));
  assert.ok(error instanceof Http2Error);
  assert.equal(error.name, 'ENHANCE_YOUR_CALM');
  assert.equal(decoder.tableSize, DECODER_TABLE_BYTES);
});

const field = fc
  .tuple(
    fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'x', '-'), minLength: 1, maxLength: 12 }),
    fc.string({
      unit: fc.constantFrom('a', 'b', ' ', '0', '~', '\u00e9'),
      maxLength: 60,
      size: 'max',
    }),
  )
  .map(([name, value]) => ({ name, value }));

test('any lists survive an encoder and a decoder, again and again, whatever the size of the table', () => {
  // Of a few lists, because blocks of a list that comes again are remembered on both sides.
  const lists = fc.array(fc.array(field, { maxLength: 6 }), { minLength: 1, maxLength: 4 });
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.nat().map((list) => ({ list })) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 5000 }).map((limit) => ({ limit })) },
    { weight: 1, arbitrary: fc.constantFrom('80', 'ff00', '4001').map((broken) => ({ broken })) },
  );
  fc.assert(
    fc.property(lists, fc.array(step, { maxLength: 60, size: 'max' }), (all, steps) => {
      const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder()];
      for (const each of steps) {
        if ('limit' in each) encoder.limit(each.limit);
        else if ('broken' in each) {
          // An error of a block, which would end its connection, is not remembered for another.
          assert.ok(new HpackDecoder().decode(hex(each.broken)) instanceof Http2Error);
        } else {
          const list = all[each.list % all.length] ?? [];
          const block = encoder.encode(list);
          assert.deepEqual(decoder.decode(block), list);
          if (each.list % 3 === 0) assert.deepEqual(decoder.decode(encoder.encode(list)), list);
        }
        assert.equal(decoder.tableSize, Math.min(decoder.tableSize, DECODER_TABLE_BYTES));
      }
      assert.deepEqual(decoder.decode(encoder.encode(all[0] ?? [])), all[0]);
      assert.equal(decoder.tableSize, encoder.tableSize);
    }),
  );
});
