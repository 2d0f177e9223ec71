import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Http2Error } from '../../../../../src/http/http2/errors.ts';
import type { HttpField } from '../../../../../src/http/fields/field.ts';
import { HpackDecoder } from '../../../../../src/http/http2/hpack/decoder.ts';
import { HpackEncoder } from '../../../../../src/http/http2/hpack/encoder.ts';
import {
  DECODER_TABLE_BYTES,
  FIELD_LIMIT,
  HEADER_BLOCK_LIMIT,
  HEADER_LIST_LIMIT,
} from '../../../../../src/http/http2/limits.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

const INVALID: readonly (readonly [what: string, block: string])[] = [
  ['index 0', '80'],
  ['an index beyond both tables', 'be'],
  ['a name beyond both tables', '7e 01 61'],
  ['an index without its end', 'ff'],
  ['an index that is too large', 'ff ff ff ff ff ff ff ff ff ff 01'],
  ['a name longer than the block', '40 05 61 62'],
  ['a value longer than the block', '40 01 61 05 62'],
  ['a literal that ends behind its name', '40 01 61'],
  ['a Huffman code with EOS', '40 01 61 84 ff ff ff ff'],
  ['a Huffman code with long padding', '40 01 61 82 64 ff ff'],
  ['a table size above the limit', '3f e2 1f'],
  ['a table size update behind a field', '82 20'],
];

for (const [what, block] of INVALID) {
  test(`a header block with ${what} is COMPRESSION_ERROR`, () => {
    const error = new HpackDecoder().decode(hex(block));
    assert.ok(error instanceof Http2Error);
    assert.deepEqual([error.scope, error.name], ['connection', 'COMPRESSION_ERROR']);
  });
}

test('a table size update evicts, and both ends follow the same one', () => {
  const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder()];
  const fields = [{ name: 'x-long', value: 'v'.repeat(100) }];
  decoder.decode(encoder.encode(fields));
  assert.equal(decoder.tableSize, 138);
  // Down and up again between two blocks: the smallest is announced as well (RFC 7541 §4.2).
  encoder.limit(0);
  encoder.limit(4096);
  assert.deepEqual(decoder.decode(encoder.encode(fields)), fields);
  assert.equal(decoder.tableSize, encoder.tableSize);
  encoder.limit(0);
  assert.deepEqual(decoder.decode(encoder.encode(fields)), fields);
  assert.equal(decoder.tableSize, 0);
});

test('an entry larger than the table empties it, and is no error', () => {
  const decoder = new HpackDecoder();
  decoder.decode(hex('40 01 61 01 62'));
  assert.equal(decoder.tableSize, 34);
  const large = Buffer.concat([hex('40 01 63 7f 81 1f'), Buffer.alloc(4096, 'x')]);
  const fields = decoder.decode(large);
  assert.ok(Array.isArray(fields));
  assert.equal(decoder.tableSize, 0);
});

test('a list that is encoded again is the same block, and decodes to the same list', () => {
  const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder()];
  const fields: readonly HttpField[] = [
    { name: ':method', value: 'POST' },
    { name: 'content-type', value: 'application/grpc' },
  ];
  assert.deepEqual(decoder.decode(encoder.encode(fields)), fields);
  const block = encoder.encode(fields);
  assert.equal(block.length, 2);
  assert.equal(encoder.encode(fields), block);
  assert.deepEqual(decoder.decode(block), fields);
  assert.equal(decoder.decode(block), decoder.decode(block));
  // Another insertion moves the entries.
  const other = [{ name: 'x-other', value: '1' }];
  assert.deepEqual(decoder.decode(encoder.encode(other)), other);
  assert.notDeepEqual(encoder.encode(fields), block);
  assert.deepEqual(decoder.decode(encoder.encode(fields)), fields);
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

test('any lists survive an encoder and a decoder, whatever the size of the table', () => {
  const step = fc.oneof(fc.array(field, { maxLength: 12 }), fc.integer({ min: 0, max: 5000 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder()];
      for (const each of steps) {
        if (typeof each === 'number') encoder.limit(each);
        else assert.deepEqual(decoder.decode(encoder.encode(each)), each);
        assert.ok(decoder.tableSize <= DECODER_TABLE_BYTES);
      }
    }),
  );
});

test('any bytes give a list or a named error, and the table stays within its bound', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 200, size: 'max' }), { maxLength: 8 }),
      (blocks) => {
        const decoder = new HpackDecoder();
        for (const block of blocks) {
          const result = decoder.decode(block);
          assert.ok(Array.isArray(result) || result instanceof Http2Error);
          assert.ok(decoder.tableSize <= DECODER_TABLE_BYTES);
          if (result instanceof Http2Error) break;
        }
      },
    ),
  );
});
