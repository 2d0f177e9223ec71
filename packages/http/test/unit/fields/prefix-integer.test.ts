import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  PrefixInteger,
  TOO_LARGE,
  TRUNCATED,
  writePrefixInteger,
} from '../../../src/fields/prefix-integer.ts';

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
