import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const MODULE = new URL('../../../../src/platform/process/young-heap.ts', import.meta.url).href;

/** Runs in a process of its own, since the flag cannot be taken back; prints sizes in bytes. */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { boundYoungHeap } from ${JSON.stringify(MODULE)};
  const size = () => getHeapSpaceStatistics()
    .find(({ space_name }) => space_name === 'new_space').physical_space_size;
  const kept = [];
  const survive = () => kept.push({ index: kept.length, list: [kept.length] });
  while (!boundYoungHeap()) for (let i = 0; i < 1000; i++) survive();
  const bounded = size();
  for (let i = 0; i < 1_000_000; i++) survive();
  console.log(JSON.stringify({ bounded, after: size() }));
`;

test('the young heap grows to what is enough and no further, however much survives', () => {
  const args = ['--input-type=module', '--eval', PROGRAM];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.match(stdout, /^\{/, stderr);
  const { bounded, after } = JSON.parse(stdout) as { bounded: number; after: number };
  // The spaces that it has are only committed as they fill; V8's own bound is six times as much.
  assert.ok(after <= 2 * bounded, `${after} of ${bounded} bytes`);
});
