import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const MODULE = new URL('../../../../src/platform/process/compiler.ts', import.meta.url).href;

/** Prints after how many calls V8 has compiled a function by TurboFan: a bit of %GetOptimizationStatus. */
const program = (isSparing: boolean): string => `
  import { compileSparingly } from ${JSON.stringify(MODULE)};
  if (${isSparing}) compileSparingly();
  const TURBOFAN = 1 << 5;
  const step = (sum, n) => (sum * 31 + n) | 0;
  let sum = 0;
  let calls = 0;
  while (calls < 1_000_000 && (%GetOptimizationStatus(step) & TURBOFAN) === 0) sum = step(sum, calls++);
  console.log(calls);
`;

function callsUntilCompiled(isSparing: boolean): number {
  const flags = ['--allow-natives-syntax', '--no-concurrent-recompilation', '--input-type=module'];
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', program(isSparing)], {
    encoding: 'utf8',
  });
  assert.notEqual(stdout, '', stderr);
  return Number(stdout);
}

test('V8 compiles by its last compiler later than by default, and still does', () => {
  const sparing = callsUntilCompiled(true);
  assert.ok(sparing >= 30_000 && sparing < 1_000_000, `after ${sparing} calls`);
  assert.ok(callsUntilCompiled(false) < sparing);
});
