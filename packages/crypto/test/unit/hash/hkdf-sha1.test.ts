import assert from 'node:assert/strict';
import { hkdfSync } from 'node:crypto';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { baselineHkdfSha1, chooseHkdfSha1, OpensslHkdfSha1 } from '../../../src/hash/hkdf-sha1.ts';

const { derive: openssl } = new OpensslHkdfSha1();

for (const [name, derive] of Object.entries({ baseline: baselineHkdfSha1, openssl })) {
  describe(`HKDF with SHA-1 by the ${name}`, () => {
    test('gives the values of RFC 5869, appendix A.4, as far as a result may go', () => {
      const key = Buffer.from('0b0b0b0b0b0b0b0b0b0b0b', 'hex');
      const salt = Buffer.from('000102030405060708090a0b0c', 'hex');
      const info = Buffer.from('f0f1f2f3f4f5f6f7f8f9', 'hex');
      assert.equal(
        Buffer.from(derive(key, salt, info, 40)).toString('hex'),
        '085a01ea1b10f36933068b56efa5ad81a4f14b822f5b091568a9cdd4f155fda2c22e422478d305f3',
      );
    });

    test('agrees with node:crypto for all inputs that it takes', () => {
      const inputs = fc.tuple(
        fc.uint8Array({ maxLength: 55, size: 'max' }),
        fc.uint8Array({ maxLength: 64, size: 'max' }),
        fc.uint8Array({ maxLength: 34, size: 'max' }),
        fc.integer({ min: 1, max: 40 }),
      );
      fc.assert(
        fc.property(inputs, (values) => {
          assert.deepEqual(
            Buffer.from(derive(...values)),
            Buffer.from(hkdfSync('sha1', ...values)),
          );
        }),
      );
    });

    test('refuses what needs more than a block', () => {
      const bytes = (length: number): Uint8Array => new Uint8Array(length);
      for (const [key, salt, info, length] of [
        [56, 0, 0, 16],
        [16, 65, 0, 16],
        [16, 16, 35, 16],
        [16, 16, 9, 41],
        [16, 16, 9, 0],
        [16, 16, 9, NaN],
      ] as const) {
        assert.throws(() => derive(bytes(key), bytes(salt), bytes(info), length), RangeError);
      }
    });
  });
}

test('the environment chooses: the baseline only on request', () => {
  assert.equal(chooseHkdfSha1('baseline'), baselineHkdfSha1);
  assert.notEqual(chooseHkdfSha1(undefined), baselineHkdfSha1);
});
