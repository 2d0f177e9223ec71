import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'node:test';
import {
  huffmanSize,
  readHuffman,
  writeHuffman,
  PrefixInteger,
  TOO_LARGE,
  TRUNCATED,
  writePrefixInteger,
  writeText,
} from '../../../src/fields/literals.ts';

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

const read = (hex: string, prefix: number): number => {
  const bytes = Buffer.from(hex, 'hex');
  return new PrefixInteger().read(bytes, 0, bytes.length, prefix);
};

/** RFC 7541, appendix C.1, and others. */
for (const [value, prefix, hex] of [
  [10, 5, '0a'],
  [1337, 5, '1f9a0a'],
  [42, 8, '2a'],
  // At the edges of prefix and octets (§5.1).
  [30, 5, '1e'],
  [31, 5, '1f00'],
  [31 + 127, 5, '1f7f'],
  [31 + 128, 5, '1f8001'],
] as const) {
  test(`RFC 7541 encodes and decodes ${value} with a prefix of ${prefix} bits`, () => {
    assert.equal(read(hex, prefix), value);
    const out = Buffer.alloc(hex.length / 2);
    assert.equal(writePrefixInteger(out, 0, value, prefix, 0), out.length);
    assert.equal(out.toString('hex'), hex);
  });
}

test('every number up to 2^53 - 1 survives a round trip, beside any flags', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.integer({ min: 3, max: 8 }), (value, prefix) => {
      const out = Buffer.alloc(12);
      const flags = 0xff & ~((1 << prefix) - 1);
      const end = writePrefixInteger(out, 1, value, prefix, flags);
      const integer = new PrefixInteger();
      assert.equal(integer.read(out, 1, end, prefix), value);
      assert.equal(integer.next, end);
      for (let shorter = 1; shorter < end; shorter++) {
        assert.equal(integer.read(out, 1, shorter, prefix), TRUNCATED);
      }
    }),
  );
});

test('a number above 2^53 - 1 is too large, never rounded', () => {
  assert.equal(read('ff80feffffffffff0f', 8), 2 ** 53 - 1);
  assert.equal(read('ff81feffffffffff0f', 8), TOO_LARGE);
  assert.equal(read('ffffffffffffffffff7f', 8), TOO_LARGE);
});

test('endless continuation octets are refused after the ninth', () => {
  assert.equal(read(`1f${'80'.repeat(8)}`, 5), TOO_LARGE);
  assert.equal(read(`1f${'80'.repeat(100)}`, 5), TOO_LARGE);
});

const written = (text: string): string => {
  const out = Buffer.alloc(64);
  return out.toString('hex', 0, writeText(out, 0, text, 7, 0));
};

test('a text is in Huffman code where that is shorter, and as it is otherwise', () => {
  // RFC 7541, appendix C.4.1: 12 bytes for 15.
  assert.equal(written('www.example.com'), '8cf1e3c2e5f23a6ba0ab90f4ff');
  for (const [text, hex] of [
    ['', '00'],
    ['~', '017e'], // 13 bits
    ['X', '0158'], // 8 bits: as long
    ['\xff\xfe', '02fffe'],
  ] as const) {
    assert.equal(written(text), hex, text);
  }
});
