import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogLimiter } from '../../../../src/net/time/pace.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

test('a log limiter keeps no more keys than its limit', () => {
  const clock = new ManualClock();
  const limiter = new LogLimiter(clock, 2);
  const first = { suppressed: 0, others: false };
  assert.deepEqual([limiter.note('a'), limiter.note('b')], [first, first]);
  assert.deepEqual(limiter.note('c'), { suppressed: 0, others: true });
  clock.advance(30_000);
  assert.equal(limiter.note('a'), undefined);
  assert.equal(limiter.note('d'), undefined);
  clock.advance(30_000);
  assert.deepEqual(limiter.note('a'), { suppressed: 1, others: false });
  // The oldest entry is deleted, since it has expired.
  assert.deepEqual(limiter.note('d'), first);
  assert.deepEqual(limiter.note('b'), { suppressed: 1, others: true });
});
