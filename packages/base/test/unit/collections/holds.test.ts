import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holds } from '../../../src/collections/holds.ts';

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
