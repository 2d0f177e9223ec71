import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { RangeSet } from '../../../src/collections/range-set.ts';

const rangesOf = (set: RangeSet): number[][] =>
  Array.from({ length: set.size }, (_, i) => [set.start(i), set.end(i)]);

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
  assert.equal(set.size, 0);
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

test('a range that fills a gap joins both sides, and removing splits them again', () => {
  const set = new RangeSet();
  set.add(0, 10);
  set.add(20, 30);
  set.add(10, 20);
  assert.deepEqual(rangesOf(set), [[0, 30]]);
  set.remove(5, 25);
  assert.deepEqual(rangesOf(set), [
    [0, 5],
    [25, 30],
  ]);
});

test('ranges added and removed at random are those of a naive model', () => {
  const step = fc.record({
    adds: fc.boolean(),
    start: fc.nat(200),
    size: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), fc.nat(220), (steps, probe) => {
      const set = new RangeSet();
      const model = new Set<number>();
      for (const { adds, start, size } of steps) {
        if (adds) set.add(start, start + size);
        else set.remove(start, start + size);
        for (let i = start; i < start + size; i++) {
          if (adds) model.add(i);
          else model.delete(i);
        }
      }
      const expected: [number, number][] = [];
      for (let i = 0; i <= 230; i++) {
        if (!model.has(i)) continue;
        const last = expected.at(-1);
        if (last && last[1] === i) last[1] = i + 1;
        else expected.push([i, i + 1]);
      }
      assert.deepEqual(rangesOf(set), expected);
      const found = expected.findIndex(([, end]) => end > probe);
      assert.equal(set.find(probe), found < 0 ? expected.length : found);
    }),
    { numRuns: 500 },
  );
});
