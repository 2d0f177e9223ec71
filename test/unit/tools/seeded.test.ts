import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const SEEDED = import.meta.resolve('../../../tools/suite/seeded.ts');
const DRAW = `import * as fc from 'fast-check'; console.log(String(fc.sample(fc.nat(), 8)));`;

function drawn(seed: string | undefined): string {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--import', SEEDED, '--input-type=module', '-e', DRAW],
    {
      encoding: 'utf8',
      cwd: import.meta.dirname,
      env: { ...process.env, WEIR_TEST_SEED: seed },
    },
  );
  assert.equal(status, 0, stderr);
  return stdout;
}

test('properties of a suite draw the same values in every run, unless asked for others', () => {
  assert.equal(drawn(undefined), drawn(undefined));
  assert.equal(drawn('7'), drawn('7'));
  assert.notEqual(drawn('7'), drawn(undefined));
  assert.notEqual(drawn('random'), drawn('random'));
});
