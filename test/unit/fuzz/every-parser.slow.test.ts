import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fuzz } from '../../fuzz/long/run.ts';
import { FUZZ_TARGETS } from '../../fuzz/long/targets.ts';

/** All targets together; `npm run fuzz:long` runs a hundred times as many. */
const INPUTS = 100_000;
const SEED = Number(process.env['WEIR_SEED'] ?? 1);

const shares = FUZZ_TARGETS.reduce((sum, { share }) => sum + share, 0);

describe(`any input gives a result or a named error, WEIR_SEED=${SEED}`, () => {
  for (const target of FUZZ_TARGETS) {
    test(target.name, async () => {
      const inputs = Math.ceil((INPUTS * target.share) / shares);
      const { failure } = await fuzz({ target, seed: SEED, first: 0, inputs });
      if (!failure) return;
      const { index, error } = failure;
      const repeat = `npm run fuzz:long -- ${target.name} --seed ${SEED} --only ${index}`;
      assert.fail(new Error(repeat, { cause: error }));
    });
  }
});
