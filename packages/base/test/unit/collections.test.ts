import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holds, KeptObjects, Listeners } from '../../src/collections.ts';

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
