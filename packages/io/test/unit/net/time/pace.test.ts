import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IdleTimer, LogLimiter, RateLimit } from '../../../../src/net/time/pace.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

function idleAfter(limit: number | (() => number)) {
  const clock = new ManualClock();
  const seen = { idle: 0 };
  const timer = new IdleTimer(clock, limit, () => seen.idle++);
  return { clock, seen, timer };
}

test('fires once, exactly the limit after the start', () => {
  const { clock, seen, timer } = idleAfter(1000);
  timer.start();
  clock.advance(999);
  assert.equal(seen.idle, 0);
  clock.advance(1);
  assert.equal(seen.idle, 1);
  clock.advance(10_000);
  assert.equal(seen.idle, 1);
  assert.equal(clock.timers, 0);
});

test('fires the limit after the last activity, with one timer however often it is touched', () => {
  const { clock, seen, timer } = idleAfter(1000);
  timer.start();
  for (let i = 0; i < 50; i++) {
    clock.advance(30);
    timer.touch();
    assert.equal(clock.timers, 1);
  }
  clock.advance(999);
  assert.equal(seen.idle, 0);
  clock.advance(1);
  assert.equal(seen.idle, 1);
});

test('does nothing before the start and after the stop, and can begin anew', () => {
  const { clock, seen, timer } = idleAfter(1000);
  timer.touch();
  clock.advance(5000);
  timer.start();
  clock.advance(500);
  timer.stop();
  timer.stop();
  clock.advance(5000);
  assert.equal(seen.idle, 0);
  assert.equal(clock.timers, 0);
  timer.start();
  clock.advance(1000);
  assert.equal(seen.idle, 1);
});

test('a second start does not put the limit off', () => {
  const { clock, seen, timer } = idleAfter(1000);
  timer.start();
  clock.advance(600);
  timer.start();
  clock.advance(400);
  assert.equal(seen.idle, 1);
});

test('obeys a limit that becomes longer while it runs', () => {
  let limit = 1000;
  const { clock, seen, timer } = idleAfter(() => limit);
  timer.start();
  limit = 3000;
  clock.advance(2999);
  assert.equal(seen.idle, 0);
  clock.advance(1);
  assert.equal(seen.idle, 1);
});

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
