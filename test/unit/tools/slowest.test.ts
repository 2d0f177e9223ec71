import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slowestLines, timedOf } from '../../../tools/suite/times.ts';

const RUNS = [
  {
    files: ['a.test.ts', 'c.test.ts'],
    ms: 3000,
    tests: [
      { file: 'a.test.ts', name: 'one', ms: 400 },
      { file: 'c.test.ts', name: 'all › two', ms: 1600 },
    ],
  },
  { files: ['b.test.ts'], ms: 2500, tests: [{ file: 'b.test.ts', name: 'three', ms: 2000 }] },
];

test('the slowest tests come first, with their share of the time of all', () => {
  assert.deepEqual(slowestLines(timedOf('unit', RUNS, 'tests'), 2), [
    '   2.0 s  unit  b.test.ts: three',
    '   1.6 s  unit  c.test.ts: all › two',
    '2 of 3: 90 % of 4 s',
  ]);
});

test('a file is as slow as its process, or as its tests where it shares one', () => {
  assert.deepEqual(slowestLines(timedOf('unit', RUNS, 'files'), 50), [
    '   2.5 s  unit  b.test.ts, 1 tests',
    '   1.6 s  unit  c.test.ts, 1 tests',
    '   0.4 s  unit  a.test.ts, 1 tests',
    '3 of 3: 100 % of 5 s',
  ]);
});

test('there is a table before any run', () => {
  assert.deepEqual(slowestLines([], 50), ['0 of 0: 0 % of 0 s']);
});
