import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { RangeSet } from '../../../../src/quic/streams/range-set.ts';

function rangesOf(set: RangeSet): [number, number][] {
  return Array.from({ length: set.size }, (_, i) => [set.start(i), set.end(i)]);
}

test('ranges that touch or overlap become one', () => {
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
    fc.property(fc.array(step, { maxLength: 200 }), fc.nat(220), (steps, probe) => {
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
