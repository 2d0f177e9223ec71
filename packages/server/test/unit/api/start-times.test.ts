import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StartTimes } from '../../../src/api/views.ts';
import type { Clock } from '@weir/io/time';

/** A clock as the system's: whole milliseconds on the wall, fractions on the monotonic side. */
const ticking = (step: number) => {
  let now = 1_000.25;
  let shift = 1_700_000_000_000;
  const clock: Clock = {
    now: () => now,
    wall: () => Math.floor((now += step) + shift),
    after: () => ({ cancel: () => undefined }),
  };
  return {
    clock,
    advance: (milliseconds: number) => void (now += milliseconds),
    stepWall: (milliseconds: number) => void (shift += milliseconds),
  };
};

test('the same start is reported alike, at whatever fraction of a millisecond it is asked for', () => {
  const { clock, advance } = ticking(0.01);
  const times = new StartTimes(clock);
  const startedAt = clock.now() + 12.34;
  const reported = new Set<number>();
  for (let i = 0; i < 500; i++) {
    advance(0.731);
    reported.add(Math.floor(times.read() + startedAt));
  }
  assert.equal(reported.size, 1);
});

test('a step of the wall clock, either way, moves what is reported', () => {
  const { clock, stepWall } = ticking(0.001);
  const times = new StartTimes(clock);
  const before = times.read();
  stepWall(5_000);
  assert.ok(Math.abs(times.read() - before - 5_000) <= 1);
  stepWall(-60_000);
  assert.ok(Math.abs(times.read() - before + 55_000) <= 1);
});

test('one reading between which the thread was interrupted changes nothing', () => {
  let late = 0;
  const clock: Clock = {
    now: () => {
      const delay = late;
      late = 0;
      return 1_000 + delay;
    },
    wall: () => 1_700_000_000_000,
    after: () => ({ cancel: () => undefined }),
  };
  const times = new StartTimes(clock);
  const before = times.read();
  late = 50;
  assert.equal(times.read(), before);
});

test('clocks that drift apart are followed', () => {
  let drift = 0;
  const clock: Clock = {
    now: () => 1_000,
    wall: () => 1_700_000_000_000 + drift,
    after: () => ({ cancel: () => undefined }),
  };
  const times = new StartTimes(clock);
  const before = times.read();
  for (drift = 0; drift < 100; drift++) times.read();
  assert.ok(Math.abs(times.read() - before - 100) <= 2);
});
