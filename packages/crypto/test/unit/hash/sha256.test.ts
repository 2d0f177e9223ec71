import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  BaselineSha256,
  chooseSha256,
  newSha256State,
  Sha256Chain,
  type Sha256Compression,
} from '../../../src/hash/sha256.ts';
import { NativeSha256 } from '@weir/io/openssl';

const IMPLEMENTATIONS: Readonly<Record<string, Sha256Compression>> = {
  baseline: new BaselineSha256(),
  openssl: new NativeSha256(),
};

/** The digest of at most 55 bytes. */
function digest(chain: Sha256Chain, bytes: Uint8Array, from = newSha256State()): Buffer {
  chain.block.set(bytes);
  chain.finish(from, bytes.length);
  return Buffer.from(chain.block.subarray(0, 32));
}

const short = fc.uint8Array({ maxLength: 55, size: 'max' });

for (const [name, compression] of Object.entries(IMPLEMENTATIONS)) {
  describe(`SHA-256 by the ${name} compression`, () => {
    const chain = new Sha256Chain(compression);

    test('has the digest of FIPS 180-4', () => {
      assert.equal(
        digest(chain, Buffer.from('abc')).toString('hex'),
        'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      );
    });

    test('is that of node:crypto for all inputs of one block', () => {
      fc.assert(
        fc.property(short, (bytes) => {
          assert.deepEqual(digest(chain, bytes), createHash('sha256').update(bytes).digest());
        }),
      );
    });

    test('makes HMACs of states that stay, as node:crypto does', () => {
      fc.assert(
        fc.property(
          fc.uint8Array({ maxLength: 64, size: 'max' }),
          short,
          short,
          (key, ...messages) => {
            const [inner, outer] = [newSha256State(), newSha256State()];
            chain.takeKey(key, 'inner', newSha256State(), inner);
            chain.takeKey(key, 'outer', newSha256State(), outer);
            for (const message of messages) {
              const hmac = digest(chain, digest(chain, message, inner), outer);
              assert.deepEqual(hmac, createHmac('sha256', key).update(message).digest());
            }
          },
        ),
      );
    });

    test('refuses what does not fit into a block', () => {
      const state = newSha256State();
      assert.throws(() => chain.finish(state, 56), RangeError);
      assert.throws(() => chain.finish(state, NaN), RangeError);
      assert.throws(() => chain.takeKey(Buffer.alloc(65), 'inner', state, state), RangeError);
    });
  });
}

test('WEIR_CRYPTO=baseline chooses SHA-256 by JavaScript', () => {
  assert.ok(chooseSha256('baseline') instanceof BaselineSha256);
  assert.ok(chooseSha256('') instanceof NativeSha256);
});
