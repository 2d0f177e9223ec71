import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { AgedSet, ChurnMap, Holds, KeptObjects, Listeners } from '../../src/collections.ts';
import { SeededRandom } from '../../../../test/support/simnet/seeded-random.ts';

test('work starts with the first hold, stops after the last, and starts again', () => {
  const calls: string[] = [];
  const holds = new Holds(
    () => calls.push('start'),
    () => calls.push('stop'),
  );
  const first = holds.hold();
  const second = holds.hold();
  first[Symbol.dispose]();
  first[Symbol.dispose](); // does not end the other one
  assert.equal(holds.isHeld, true);
  assert.deepEqual(calls, ['start']);
  second[Symbol.dispose]();
  assert.equal(holds.isHeld, false);
  holds.hold();
  assert.deepEqual(calls, ['start', 'stop', 'start']);
});

test('an object is made once for its name, and again for another class', () => {
  const kept = new KeptObjects();
  const first = kept.recall('a', Map, () => new Map());
  assert.equal(
    kept.recall('a', Map, () => new Map()),
    first,
  );
  assert.notEqual(
    kept.recall('b', Map, () => new Map()),
    first,
  );
  const other = kept.recall('a', Set, () => new Set());
  assert.ok(other instanceof Set);
  assert.equal(
    kept.recall('a', Set, () => new Set()),
    other,
  );
});

test('a function that was added twice is called twice until one of the two is disposed', () => {
  const listeners = new Listeners();
  let calls = 0;
  const listener = (): void => void calls++;
  listeners.add(listener);
  const second = listeners.add(listener);
  listeners.call();
  assert.equal(calls, 2);
  second[Symbol.dispose]();
  listeners.call();
  assert.equal(calls, 3);
});

test('a churn map keeps its entries, and their order, whatever is deleted', () => {
  const map = new ChurnMap<number, string>();
  const expected = new Map<number, string>();
  for (let n = 0; n < 2000; n++) {
    map.set(n, `${n}`);
    expected.set(n, `${n}`);
    // Now and then many are left, now and then few.
    for (let old = n - (n % 500); old < n - 3; old += 7) {
      assert.equal(map.delete(old), expected.delete(old));
    }
    assert.equal(map.size, expected.size);
  }
  assert.deepEqual([...map.keys()], [...expected.keys()]);
  assert.deepEqual([...map.values()], [...expected.values()]);
  assert.equal(map.delete(-1), false);
  assert.equal(map.has(1999), true);
  assert.equal(map.get(1999), '1999');
  map.clear();
  assert.deepEqual([map.size, [...map.keys()]], [0, []]);
});

const COLLECTIONS = new URL('../../src/collections.ts', import.meta.url).href;

/** Prints by how many MB the old generation grows while 100,000 entries pass through a map that is old itself. */
const program = (map: string): string => `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { ChurnMap } from ${JSON.stringify(COLLECTIONS)};
  const map = new ${map}();
  const old = () => getHeapSpaceStatistics().find((each) => each.space_name === 'old_space').space_used_size;
  map.set(-1, 0);
  let filler;
  for (let i = 0; i < 1_000_000; i++) filler = new Array(20).fill(i);
  const before = old();
  let most = 0;
  for (let n = 0; n < 100_000; n++) {
    map.set(n, new Array(100).fill(n));
    map.delete(n - 32);
    if (n % 1000 === 0) most = Math.max(most, old() - before);
  }
  console.log(most / (1 << 20));
`;

test('what passes through a churn map does not reach the old generation', () => {
  const grownBy = (map: string): number => {
    const args = ['--input-type=module', '-e', program(map)];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.notEqual(stdout, '', stderr);
    return Number(stdout);
  };
  assert.ok(grownBy('ChurnMap') < 4);
  // Otherwise V8 has learnt to do without it.
  assert.ok(grownBy('Map') > 4);
});

test('random additions and removals give the elements and the oldest of a plain list', () => {
  const random = new SeededRandom(1);
  const set = new AgedSet<number>();
  const model: number[] = [];
  for (let step = 0; step < 5000; step++) {
    if (random.chance(0.5)) {
      set.add(step);
      model.push(step);
    } else {
      const item = random.chance(0.5) ? model[0] : random.below(step + 1);
      const index = item === undefined ? -1 : model.indexOf(item);
      assert.equal(item !== undefined && set.delete(item), index >= 0);
      if (index >= 0) model.splice(index, 1);
    }
    assert.equal(set.oldest, model[0]);
    assert.equal(set.size, model.length);
  }
});
