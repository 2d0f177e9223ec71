import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimit } from '../../../../src/net/time/pace.ts';

/** Events that are within the limit at once. */
function count(limit: RateLimit, now: number): number {
  let events = 0;
  while (limit.take(now)) events++;
  return events;
}

test('a burst is as large as what a second allows, and regained with time', () => {
  const limit = new RateLimit(20);
  assert.equal(count(limit, 1000), 20);
  assert.equal(count(limit, 1049), 0);
  assert.equal(count(limit, 1100), 2);
  assert.equal(count(limit, 60_000), 20);
});

test('a burst has its own size where it is given, larger or smaller', () => {
  for (const burst of [5, 100]) {
    const limit = new RateLimit(20, burst);
    assert.equal(count(limit, 0), burst);
    assert.equal(count(limit, 100), 2);
    assert.equal(count(limit, 60_000), burst);
  }
});

test('without a rate there is one burst', () => {
  const limit = new RateLimit(0, 3);
  assert.deepEqual([count(limit, 0), count(limit, 1e9)], [3, 0]);
});

test('an event that costs more than is left is not counted', () => {
  const limit = new RateLimit(1, 10);
  assert.deepEqual([limit.take(0, 8), limit.take(0, 3), limit.take(0, 2)], [true, false, true]);
});

test('what is given back can be taken, up to the size of a burst', () => {
  const limit = new RateLimit(1, 2);
  limit.giveBack();
  assert.equal(count(limit, 0), 2);
  limit.giveBack();
  assert.equal(count(limit, 0), 1);
});
