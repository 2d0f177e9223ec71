import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slowestLines, timedOf } from '../../../tools/suite/times.ts';

const FILES = [
  {
    file: 'a.test.ts',
    ms: 3000,
    tests: [
      { name: 'one', ms: 400 },
      { name: 'all › two', ms: 1600 },
    ],
  },
  { file: 'b.test.ts', ms: 2500, tests: [{ name: 'three', ms: 2000 }] },
];

test('the slowest tests come first, with their share of the time of all', () => {
  assert.deepEqual(slowestLines(timedOf('unit', FILES, 'tests'), 2), [
    '   2.0 s  unit  b.test.ts: three',
    '   1.6 s  unit  a.test.ts: all › two',
    '2 of 3: 90 % of 4 s',
  ]);
});

test('files are as slow as their processes', () => {
  assert.deepEqual(slowestLines(timedOf('unit', FILES, 'files'), 50), [
    '   3.0 s  unit  a.test.ts, 2 tests',
    '   2.5 s  unit  b.test.ts, 1 tests',
    '2 of 2: 100 % of 6 s',
  ]);
});

test('there is a table before any run', () => {
  assert.deepEqual(slowestLines([], 50), ['0 of 0: 0 % of 0 s']);
});
