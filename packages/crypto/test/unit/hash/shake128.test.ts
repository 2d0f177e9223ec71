import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  baselineFirstBlock,
  chooseFirstBlock,
  openOpensslFirstBlock,
  SHAKE128_RATE,
  SHAKE128_SEED,
  Shake128Stream,
} from '../../../src/hash/shake128.ts';

const shake = (seed: Uint8Array, length: number): Buffer =>
  createHash('shake128', { outputLength: length }).update(seed).digest();

const seeds = fc.uint8Array({ maxLength: SHAKE128_SEED, size: 'max' });

describe('the first block of SHAKE128', () => {
  for (const [name, firstBlock] of [
    ['baseline', baselineFirstBlock],
    ['openssl', openOpensslFirstBlock()],
  ] as const) {
    test(`is that of node:crypto by the ${name} implementation`, () => {
      fc.assert(
        fc.property(seeds, (seed) => {
          assert.deepEqual(Buffer.from(firstBlock(seed)), shake(seed, SHAKE128_RATE));
        }),
      );
    });
  }

  test('stays as it is when others are made', () => {
    const firstBlock = openOpensslFirstBlock();
    const block = firstBlock(Buffer.from('one'));
    const before = Buffer.from(block);
    firstBlock(Buffer.from('two'));
    assert.deepEqual(Buffer.from(block), before);
  });
});

describe('a stream of SHAKE128', () => {
  test('goes on as the output of one call does', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 5 }), (seed, blocks) => {
        const stream = new Shake128Stream(seed);
        const output = Buffer.concat(Array.from({ length: blocks }, () => stream.next()));
        assert.deepEqual(output, shake(seed, blocks * SHAKE128_RATE));
      }),
    );
  });

  test('is not disturbed by another one', () => {
    const [one, other] = [Buffer.from('one'), Buffer.from('other')];
    const [first, second] = [new Shake128Stream(one), new Shake128Stream(other)];
    const blocks = [first.next(), second.next(), first.next(), second.next()];
    assert.deepEqual(
      blocks.map((block) => Buffer.from(block)),
      [one, other, one, other].map((seed, i) =>
        shake(seed, 2 * SHAKE128_RATE).subarray(...(i < 2 ? [0, SHAKE128_RATE] : [SHAKE128_RATE])),
      ),
    );
  });

  test('refuses a long seed', () => {
    assert.throws(() => new Shake128Stream(Buffer.alloc(SHAKE128_SEED + 1)), RangeError);
  });
});

test('WEIR_CRYPTO=baseline chooses SHAKE128 by JavaScript', () => {
  assert.equal(chooseFirstBlock('baseline'), baselineFirstBlock);
  assert.notEqual(chooseFirstBlock(''), baselineFirstBlock);
});
