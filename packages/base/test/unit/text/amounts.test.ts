import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, bytes, day, isNearlyFull, milliseconds } from '../../../src/text/amounts.ts';

test('bytes have three digits at most in units of 1000', () => {
  assert.deepEqual([0, 999, 999.6, 1_500, 99_499, 99_500, 2.5e9].map(bytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '1.5 kB',
    '99.5 kB',
    '100 kB',
    '2.5 GB',
  ]);
});

test('a duration has its two largest units', () => {
  assert.deepEqual([-5, 12_000, 185_000, 7_800_000, 86_400_000, 97_200_000].map(age), [
    '0s',
    '12s',
    '3m 5s',
    '2h 10m',
    '1d',
    '1d 3h',
  ]);
});

test('milliseconds have a decimal below 10', () => {
  assert.deepEqual([0.12, 3.46, 120.4].map(milliseconds), ['0.1 ms', '3.5 ms', '120 ms']);
});

test('a day is that of UTC, and a number that is no time has none', () => {
  assert.deepEqual([0, Number.NaN, 1e300].map(day), ['1970-01-01', '?', '?']);
});

test('four fifths of a limit are nearly all of it, and a limit of 0 is never full', () => {
  assert.deepEqual(
    [isNearlyFull(79, 100), isNearlyFull(80, 100), isNearlyFull(0, 0)],
    [false, true, false],
  );
});
