import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { SaltFilter, SaltPool } from '../../../../src/protocols/shadowsocks/salts.ts';
import { SlidingWindow } from '../../../../src/protocols/shadowsocks/sliding-window.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const salt = (n: number): Buffer => {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32BE(n);
  return bytes;
};

test('a salt pool refuses a salt for a minute, and only that salt', () => {
  const clock = new ManualClock();
  const pool = new SaltPool(clock);
  assert.ok(pool.add(salt(1)));
  clock.advance(30_000);
  assert.ok(pool.add(salt(2)));
  assert.ok(!pool.add(salt(1)));
  clock.advance(29_999);
  assert.ok(!pool.add(salt(1)));
  clock.advance(1);
  assert.ok(pool.add(salt(1)));
  assert.ok(!pool.add(salt(2)));
  clock.advance(120_000);
  assert.ok(pool.add(salt(3)));
  assert.equal(pool.size, 1);
});

test('a full salt pool refuses what it could not remember', () => {
  const clock = new ManualClock();
  const pool = new SaltPool(clock, 2);
  assert.deepEqual(
    [1, 2, 3].map((n) => pool.add(salt(n))),
    [true, true, false],
  );
  clock.advance(60_000);
  assert.ok(pool.add(salt(3)));
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

test('a sliding window takes each number once, and none that is too old', () => {
  const step = fc.oneof(
    fc.integer({ min: -3000, max: 3000 }),
    fc.integer({ min: -40, max: 40 }),
    fc.integer({ min: 0, max: 100_000 }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const window = new SlidingWindow();
      const seen = new Set<number>();
      let newest = 0;
      for (const by of steps) {
        const id = Math.max(0, newest + by);
        const fresh = window.isNew(id);
        assert.equal(fresh, !seen.has(id) && newest - id < 2048, `${id} after ${newest}`);
        if (!fresh) continue;
        window.mark(id);
        seen.add(id);
        newest = Math.max(newest, id);
      }
    }),
    { numRuns: 300 },
  );
});

test('a sliding window gets to the largest number that there is', () => {
  const window = new SlidingWindow();
  for (const id of [0, 2 ** 32, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER]) {
    assert.ok(window.isNew(id));
    window.mark(id);
    assert.ok(!window.isNew(id));
  }
});
