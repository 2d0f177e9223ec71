import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { huffmanSize, readHuffman, writeHuffman } from '../../../src/fields/huffman.ts';

const encode = (text: string): Buffer => {
  const out = Buffer.alloc(huffmanSize(text));
  assert.equal(writeHuffman(out, 0, text), out.length);
  return out;
};
const decode = (hex: string): string | undefined => {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  return readHuffman(bytes, 0, bytes.length);
};

/** RFC 7541, appendix C.4 and C.6. */
const VECTORS: readonly (readonly [text: string, hex: string])[] = [
  ['www.example.com', 'f1e3 c2e5 f23a 6ba0 ab90 f4ff'],
  ['no-cache', 'a8eb 1064 9cbf'],
  ['custom-key', '25a8 49e9 5ba9 7d7f'],
  ['custom-value', '25a8 49e9 5bb8 e8b4 bf'],
  ['302', '6402'],
  ['private', 'aec3 771a 4b'],
  ['Mon, 21 Oct 2013 20:13:21 GMT', 'd07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff'],
  ['https://www.example.com', '9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3'],
  ['307', '640e ff'],
  ['gzip', '9bd9 ab'],
  [
    'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    '94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
  ],
];

for (const [text, hex] of VECTORS) {
  test(`RFC 7541 encodes and decodes ${text}`, () => {
    assert.equal(encode(text).toString('hex'), hex.replaceAll(' ', ''));
    assert.equal(decode(hex), text);
  });
}

test('every octet survives a round trip in every neighbourhood', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200, size: 'max' }), (bytes) => {
      const text = Buffer.from(bytes).toString('latin1');
      const coded = encode(text);
      assert.equal(readHuffman(coded, 0, coded.length), text);
    }),
  );
});

test('padding of more than seven bits is an error', () => {
  assert.equal(decode('6402 ff'), undefined);
  assert.equal(decode('ff'), undefined);
});

test('padding that is not the beginning of EOS is an error', () => {
  assert.equal(decode('6402'), '302');
  // "0" is 00000, then zeros.
  assert.equal(decode('00'), undefined);
});

test('EOS within a string is an error', () => {
  assert.equal(decode('ffff ffff'), undefined);
  assert.equal(decode('ffff fffc 00'), undefined);
  assert.equal(decode('ffff fffc 0f'), undefined);
});

test('an empty string is valid', () => {
  assert.equal(decode(''), '');
});

test('any bytes give a text or nothing, and a text encodes to the same bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64, size: 'max' }), (bytes) => {
      const text = readHuffman(bytes, 0, bytes.length);
      if (text !== undefined) assert.deepEqual(encode(text), Buffer.from(bytes));
    }),
    { numRuns: 2000 },
  );
});
