import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IdleTimer } from '../../../../src/net/time/pace.ts';
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
