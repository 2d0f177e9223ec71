import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SaltFilter, SaltPool } from '../../../../src/protocols/shadowsocks/salts.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const salt = (n: number): Buffer => {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32BE(n);
  return bytes;
};

/** The timestamp of a message that is sent now. */
const stampOf = (clock: ManualClock): number => Math.floor(clock.wall() / 1000);

test('a salt pool rejects a known salt for a little more than a minute, and no other', () => {
  const clock = new ManualClock();
  const pool = new SaltPool(clock);
  const add = (n: number): boolean => pool.add(salt(n), stampOf(clock));
  assert.ok(add(1));
  clock.advance(30_000);
  assert.ok(add(2));
  assert.ok(!add(1));
  clock.advance(30_999);
  assert.ok(!add(1));
  clock.advance(1);
  assert.ok(add(1));
  assert.ok(!add(2));
  clock.advance(120_000);
  assert.ok(add(3));
  assert.equal(pool.size, 1);
});

test('a full salt pool rejects what it could not remember', () => {
  const clock = new ManualClock();
  const pool = new SaltPool(clock, 2);
  const add = (n: number): boolean => pool.add(salt(n), stampOf(clock));
  assert.deepEqual([1, 2, 3].map(add), [true, true, false]);
  clock.advance(61_000);
  assert.ok(add(3));
});

test('a salt pool accepts no message twice when the wall clock is set back', () => {
  const clock = new ManualClock();
  const pool = new SaltPool(clock);
  const sent = stampOf(clock);
  assert.ok(pool.add(salt(1), sent));
  clock.advance(600_000);
  assert.ok(pool.add(salt(2), stampOf(clock)));
  clock.stepWall(-600_000);
  assert.ok(!pool.add(salt(1), sent));
  assert.ok(pool.add(salt(3), stampOf(clock) + 1));
});

test('a salt pool serves after a clock that was far ahead is set right', () => {
  const clock = new ManualClock();
  const pool = new SaltPool(clock);
  assert.ok(pool.add(salt(1), stampOf(clock)));
  clock.stepWall(3_600_000);
  // All clients are rejected meanwhile for their timestamps: nothing is added.
  clock.advance(600_000);
  clock.stepWall(-3_600_000);
  assert.ok(pool.add(salt(2), stampOf(clock)));
});

test('the latest timestamp of one client never hides the earliest valid one of another', () => {
  const clock = new ManualClock(0, Date.UTC(2026, 0, 1) + 999);
  const pool = new SaltPool(clock);
  const MAX_SKEW_S = 30;
  assert.ok(pool.add(salt(1), stampOf(clock) + MAX_SKEW_S));
  clock.advance(61_000);
  assert.ok(pool.add(salt(2), stampOf(clock) - MAX_SKEW_S));
});

test('a salt filter remembers the last generation and the one before, no more', () => {
  const filter = new SaltFilter(3);
  for (let n = 0; n < 6; n++) assert.ok(filter.add(salt(n)));
  for (let n = 0; n < 6; n++) assert.ok(!filter.add(salt(n)), String(n));
  assert.ok(filter.add(salt(6)));
  assert.deepEqual(
    [0, 1, 2].map((n) => filter.has(salt(n))),
    [false, false, false],
  );
  assert.deepEqual(
    [3, 4, 5, 6].map((n) => filter.has(salt(n))),
    [true, true, true, true],
  );
});
