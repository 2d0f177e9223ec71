import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NamedDeadlines } from '../../../src/collections/named-deadlines.ts';

const create = (): NamedDeadlines<'idle' | 'close' | 'pacing'> =>
  new NamedDeadlines(['idle', 'close', 'pacing']);

test('none is set at first, and the earliest of those that are set is the next', () => {
  const deadlines = create();
  assert.deepEqual([deadlines.next, deadlines.isSet('idle')], [Infinity, false]);
  deadlines.set('idle', 30);
  deadlines.set('pacing', 10.5);
  deadlines.set('close', 20);
  assert.equal(deadlines.next, 10.5);
  deadlines.clear('pacing');
  assert.equal(deadlines.next, 20);
  deadlines.set('close', 40);
  assert.deepEqual([deadlines.next, deadlines.at('close')], [30, 40]);
  deadlines.clearAll();
  assert.deepEqual([deadlines.next, deadlines.at('close')], [Infinity, Infinity]);
});

test('a deadline is due at its time, and taken once', () => {
  const deadlines = create();
  deadlines.set('idle', 30);
  assert.deepEqual([deadlines.isDue('idle', 29.9), deadlines.take('idle', 29.9)], [false, false]);
  assert.deepEqual([deadlines.isDue('idle', 30), deadlines.isSet('idle')], [true, true]);
  assert.deepEqual([deadlines.take('idle', 30), deadlines.take('idle', 31)], [true, false]);
  assert.equal(deadlines.isSet('idle'), false);
});

test('one that is not set is never due', () => {
  assert.equal(create().take('close', Number.MAX_SAFE_INTEGER), false);
});
