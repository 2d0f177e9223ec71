import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blake3 } from '@noble/hashes/blake3.js';
import * as fc from 'fast-check';
import { Blake3KeyDerivation } from '../../../src/hash/blake3-key.ts';

test('a derived key is that of the official vectors', () => {
  // BLAKE3-team/BLAKE3 test_vectors/test_vectors.json, derive_key, the first 32 bytes
  const keys = new Blake3KeyDerivation('BLAKE3 2019-12-27 16:29:52 test vectors context');
  for (const [length, expected] of [
    [0, '2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d'],
    [1, 'b3e2e340a117a499c6cf2398a19ee0d29cca2bb7404c73063382693bf66cb06c'],
    [2, '1f166565a7df0098ee65922d7fea425fb18b9943f19d6161e2d17939356168e6'],
    [63, 'b6451e30b953c206e34644c6803724e9d2725e0893039cfc49584f991f451af3'],
    [64, 'a5c4a7053fa86b64746d4bb688d06ad1f02a18fce9afd3e818fefaa7126bf73e'],
  ] as const) {
    const material = Uint8Array.from({ length }, (_, index) => index);
    const half = length >> 1;
    const key = keys.derive(material.subarray(0, half), material.subarray(half), 32);
    assert.equal(Buffer.from(key).toString('hex'), expected);
  }
});

test('derived keys are those of another implementation, whatever was derived before', () => {
  const piece = fc.uint8Array({ maxLength: 32, size: 'max' });
  fc.assert(
    fc.property(
      fc.string({ maxLength: 64, size: 'max', unit: 'grapheme-ascii' }),
      piece,
      piece,
      fc.integer({ min: 1, max: 32 }),
      (context, first, second, length) => {
        const expected = blake3(Buffer.concat([first, second]), {
          context: Buffer.from(context),
          dkLen: length,
        });
        const keys = new Blake3KeyDerivation(context);
        keys.derive(second, first, 32);
        assert.deepEqual(keys.derive(first, second, length), expected);
      },
    ),
  );
});

test('material and contexts of more than a block, and keys of more than 32 bytes are refused', () => {
  const keys = new Blake3KeyDerivation('test');
  assert.throws(() => keys.derive(new Uint8Array(64), new Uint8Array(1), 16), RangeError);
  assert.throws(() => keys.derive(new Uint8Array(16), new Uint8Array(16), 33), RangeError);
  assert.throws(() => new Blake3KeyDerivation('x'.repeat(65)), RangeError);
});
