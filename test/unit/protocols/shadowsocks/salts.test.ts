import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SaltFilter, SaltPool } from '../../../../src/protocols/shadowsocks/salts.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const salt = (n: number): Buffer => {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt32BE(n);
  return bytes;
};

test('a salt pool rejects a known salt for a minute, and no other', () => {
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

test('a full salt pool rejects what it could not remember', () => {
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
