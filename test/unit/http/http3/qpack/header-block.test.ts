import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Http3Error, Http3ErrorCode } from '../../../../../src/http/http3/errors.ts';
import { FIELD_SECTION_LIMIT } from '../../../../../src/http/http3/limits.ts';
import {
  decodeHeaderBlock,
  encodeHeaderBlock,
} from '../../../../../src/http/http3/qpack/header-block.ts';
import { QPACK_STATIC_TABLE } from '../../../../../src/http/http3/qpack/static-table.ts';

const decode = (hex: string) => decodeHeaderBlock(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

function assertFailed(hex: string): void {
  const result = decode(hex);
  assert.ok(result instanceof Http3Error);
  assert.equal(result.scope, 'connection');
  assert.equal(result.code, Http3ErrorCode.QPACK_DECOMPRESSION_FAILED);
}

test('RFC 9204 B.1: a literal with a name of the static table', () => {
  assert.deepEqual(decode('0000 510b 2f69 6e64 6578 2e68 746d 6c'), [
    { name: ':path', value: '/index.html' },
  ]);
});

test('RFC 9204 B.2 and B.4: a section that needs the dynamic table fails, as none was allowed', () => {
  assertFailed('0381 10 11');
  assertFailed('0500 8010 11');
});

test('a reference to the dynamic table fails in each of its forms', () => {
  assertFailed('0000 80'); // indexed, relative
  assertFailed('0000 10'); // indexed, post-base
  assertFailed('0000 40 0161'); // literal with a name of the dynamic table
  assertFailed('0000 00 0161'); // the same, post-base
});

test('an index beyond the static table fails', () => {
  assert.deepEqual(decode('0000 ff23'), [{ name: 'x-frame-options', value: 'sameorigin' }]);
  assertFailed('0000 ff24');
  assertFailed('0000 5f54 0161');
});

test('a negative base fails', () => {
  assertFailed('0080');
  assert.deepEqual(decode('0001'), []);
});

test('a section that ends within its prefix, an integer or a string fails', () => {
  for (const hex of ['', '00', '00ff', '0000ff', '000051', '0000510b2f69', '00002f', '00002361']) {
    assertFailed(hex);
  }
});

test('a string in invalid Huffman code fails', () => {
  assertFailed('0000 5181 00');
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

test('any bytes give fields or an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300, size: 'max' }), (bytes) => {
      const prefixed = Buffer.concat([Buffer.alloc(2), bytes]);
      for (const block of [bytes, prefixed]) {
        const result = decodeHeaderBlock(block);
        assert.ok(result instanceof Http3Error || Array.isArray(result));
      }
    }),
    { numRuns: 3000 },
  );
});
