import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RangeSet } from '../../../src/quic/range-set.ts';

const rangesOf = (set: RangeSet): number[][] =>
  Array.from({ length: set.count }, (_, i) => [set.start(i), set.end(i)]);

test('ranges that touch or overlap become one', () => {
  const set = new RangeSet();
  set.add(10, 20);
  set.add(30, 40);
  set.add(50, 60);
  assert.deepEqual(rangesOf(set), [
    [10, 20],
    [30, 40],
    [50, 60],
  ]);
  set.add(20, 30);
  assert.deepEqual(rangesOf(set), [
    [10, 40],
    [50, 60],
  ]);
  set.add(0, 100);
  assert.deepEqual(rangesOf(set), [[0, 100]]);
});

test('removing splits, shortens and deletes ranges', () => {
  const set = new RangeSet();
  set.add(0, 100);
  set.remove(40, 60);
  set.remove(0, 10);
  set.remove(90, 200);
  assert.deepEqual(rangesOf(set), [
    [10, 40],
    [60, 90],
  ]);
  assert.ok(set.has(10, 40) && !set.has(10, 41) && !set.has(30, 70));
  set.remove(0, 100);
  assert.equal(set.count, 0);
});

test('empty ranges change nothing', () => {
  const set = new RangeSet();
  set.add(5, 5);
  set.add(0, 10);
  set.remove(5, 5);
  assert.deepEqual(rangesOf(set), [[0, 10]]);
});

test('any order of adding and removing gives what a table of booleans gives', () => {
  const SIZE = 40;
  let state = 3;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  const set = new RangeSet();
  const model = Array.from({ length: SIZE }, () => false);
  for (let round = 0; round < 2000; round++) {
    const start = below(SIZE);
    const end = start + below(SIZE - start + 1);
    const isAdded = below(2) === 0;
    if (isAdded) set.add(start, end);
    else set.remove(start, end);
    model.fill(isAdded, start, end);
    const expected: number[][] = [];
    for (let i = 0; i < SIZE; i++) {
      if (!model[i]) continue;
      const first = i;
      while (model[i]) i++;
      expected.push([first, i]);
    }
    assert.deepEqual(rangesOf(set), expected);
  }
});
