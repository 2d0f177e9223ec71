import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Listeners } from '../../../src/collections/listeners.ts';

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
