import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Http3Error, Http3ErrorCode } from '../../../src/http3/errors.ts';
import { FIELD_SECTION_LIMIT } from '../../../src/limits.ts';
import {
  decodeHeaderBlock,
  encodeHeaderBlock,
  QPACK_STATIC_TABLE,
} from '../../../src/http3/qpack.ts';

const decode = (hex: string) => decodeHeaderBlock(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

test('RFC 9204 B.1: a literal with a name of the static table', () => {
  assert.deepEqual(decode('0000 510b 2f69 6e64 6578 2e68 746d 6c'), [
    { name: ':path', value: '/index.html' },
  ]);
});

/** Sections that do not decode, and the reason that the peer is given (RFC 9204 §2.2.3, §4.5). */
const FAILURES: Readonly<Record<string, readonly string[]>> = {
  'the prefix of the header block is incomplete': [
    '',
    'ff',
    '00',
    '00 7f',
    '00 7f80',
    // A base above 2^53 - 1.
    '00 7f 81ffffffffffff0f',
  ],
  // B.2 and B.4; and where no field line refers to an entry.
  'the header block requires entries of the dynamic table': [
    '0381 10 11',
    '0500 8010 11',
    '0200 d1',
  ],
  'the base of the header block is negative': ['0080', '0085', '00ff00'],
  'a field refers to the dynamic table': ['0000 80', '0000 bf00', '0000 10', '0000 00 0161'],
  'a field name refers to the dynamic table': ['0000 40 0161', '0000 6f00 0161'],
  'a field has an index beyond the static table': ['0000 ff24', '0000 ff', '0000 ff80'],
  'a field name has an index beyond the static table': ['0000 5f54 0161', '0000 5f'],
  'a field name is malformed': ['0000 2f', '0000 2361', '0000 2981', '0000 2d 1111111111'],
  'a field value is malformed': [
    '0000 51',
    '0000 51 7f',
    '0000 51 0b2f69',
    '0000 51 032f69',
    '0000 21 61',
    '0000 21 61 0262',
    // Huffman code whose padding is not of ones.
    '0000 51 81 00',
  ],
};

for (const [reason, sections] of Object.entries(FAILURES)) {
  test(`a section is QPACK_DECOMPRESSION_FAILED because ${reason}`, () => {
    for (const section of sections) {
      const result = decode(section);
      assert.ok(result instanceof Http3Error, section);
      assert.deepEqual(
        [result.scope, result.code, result.reason],
        ['connection', Http3ErrorCode.QPACK_DECOMPRESSION_FAILED, reason],
        section,
      );
    }
  });
}

test('a section has the last entry of the static table', () => {
  assert.deepEqual(decode('0000 ff23'), [{ name: 'x-frame-options', value: 'sameorigin' }]);
  assert.deepEqual(decode('0000 5f53 0161'), [{ name: 'x-frame-options', value: 'a' }]);
});

test('a base is of no consequence where no entries are required, up to 2^53 - 1', () => {
  for (const base of ['00', '01', '7f00', '7f 80ffffffffffff0f']) {
    assert.deepEqual(decode(`00 ${base} d1`), [{ name: ':method', value: 'GET' }], base);
  }
});

test('the static table is the one of RFC 9204', () => {
  assert.equal(QPACK_STATIC_TABLE.length, 99);
  for (const [index, name, value] of [
    [0, ':authority', ''],
    [1, ':path', '/'],
    [17, ':method', 'GET'],
    [20, ':method', 'POST'],
    [23, ':scheme', 'https'],
    [27, ':status', '404'],
    [54, 'content-type', 'text/plain;charset=utf-8'],
    [71, ':status', '500'],
    [83, 'alt-svc', 'clear'],
    [98, 'x-frame-options', 'sameorigin'],
  ] as const) {
    assert.deepEqual(QPACK_STATIC_TABLE[index], { name, value });
  }
});

test('a request is encoded as ls-qpack encodes it without a dynamic table', () => {
  const block = encodeHeaderBlock([
    { name: ':authority', value: 'hysteria' },
    { name: ':method', value: 'POST' },
    { name: ':path', value: '/auth' },
    { name: ':scheme', value: 'https' },
    { name: 'hysteria-cc-rx', value: '0' },
    { name: 'content-length', value: '0' },
  ]);
  assert.equal(
    Buffer.from(block).toString('hex'),
    '000050869fd2125b0c3fd451846076a67fd72f039fd2125b0c358845acf30130c4',
  );
});

test('every section survives a round trip', () => {
  const text = fc
    .uint8Array({ maxLength: 300, size: 'max' })
    .map((all) => Buffer.from(all).toString('latin1'));
  const field = fc.oneof(
    fc.record({ name: text, value: text }, { noNullPrototype: true }),
    fc.constantFrom(...QPACK_STATIC_TABLE),
    fc.record(
      { name: fc.constantFrom(...QPACK_STATIC_TABLE.map(({ name }) => name)), value: text },
      { noNullPrototype: true },
    ),
  );
  fc.assert(
    fc.property(fc.array(field, { maxLength: 10 }), (fields) => {
      assert.deepEqual(decodeHeaderBlock(encodeHeaderBlock(fields)), fields);
    }),
  );
});

test('a section beyond the limit is refused by its decoded size', () => {
  const fields = Array.from({ length: FIELD_SECTION_LIMIT / 64 }, () => ({
    name: 'x'.repeat(16),
    value: 'y'.repeat(16),
  }));
  assert.deepEqual(decodeHeaderBlock(encodeHeaderBlock(fields)), fields);
  const result = decodeHeaderBlock(encodeHeaderBlock([...fields, { name: 'a', value: '' }]));
  assert.ok(result instanceof Http3Error);
  assert.equal(result.scope, 'stream');
  assert.equal(result.code, Http3ErrorCode.H3_EXCESSIVE_LOAD);
});
