import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { complement, pseudoHeaderSum, sumOf } from '../../../src/wire/checksum.ts';

/** RFC 1071 §1 as it stands: 16-bit words, carries added at the end. */
function naiveSum(bytes: Uint8Array): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) {
    sum += (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0);
  }
  while (sum > 0xffff) sum = (sum % 0x10000) + Math.floor(sum / 0x10000);
  return sum;
}

test('the example of RFC 1071 has the sum that the RFC works out', () => {
  const bytes = Uint8Array.of(0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7);
  assert.equal(sumOf(bytes, 0, 8), 0xddf2);
  assert.equal(complement(0xddf2), 0x220d);
});

test('a sum is that of 16-bit words at any offset, length and alignment', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 0, maxLength: 700, size: 'max' }),
      fc.nat(9),
      fc.nat(9),
      fc.nat(0xffff),
      (data, offset, start, initial) => {
        const memory = new Uint8Array(offset + start + data.length + 3);
        crypto.getRandomValues(memory);
        const bytes = memory.subarray(offset);
        bytes.set(data, start);
        const expected = naiveSum(data) + initial;
        const sum = sumOf(bytes, start, start + data.length, initial);
        // Zero has two forms.
        assert.equal(sum % 0xffff, expected % 0xffff);
      },
    ),
    { numRuns: 2000 },
  );
});

test('a sum of 256 KiB of the largest words does not overflow', () => {
  const bytes = new Uint8Array(256 * 1024).fill(0xff);
  assert.equal(sumOf(bytes, 0, bytes.length), 0xffff);
  assert.equal(sumOf(bytes, 1, bytes.length - 1), 0xffff);
});

test('sums of one buffer after another are those of the right buffer', () => {
  const buffers = [1, 2, 3].map((value) => new Uint8Array(64).fill(value));
  for (const bytes of [...buffers, ...buffers]) assert.equal(sumOf(bytes, 0, 64), naiveSum(bytes));
});

test('the sum of a whole is that of its parts in turn', () => {
  const bytes = new Uint8Array(301).map((_, at) => at * 7);
  assert.equal(sumOf(bytes, 100, 301, sumOf(bytes, 0, 100)), naiveSum(bytes));
});

test('the pseudo-header is that of the addresses, the protocol and the length', () => {
  const header = Uint8Array.of(192, 0, 2, 1, 198, 51, 100, 2);
  const pseudo = Uint8Array.of(...header, 0, 6, 0x12, 0x34);
  assert.equal(pseudoHeaderSum(header, 0, 4, 6, 0x1234), naiveSum(pseudo));
});
