import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ReplayWindow } from '../../../src/replay/replay-window.ts';

test('takes each number once, in any order within the window', () => {
  const window = new ReplayWindow(2048);
  for (const number of [0, 5, 3, 2047]) {
    assert.equal(window.isNew(number), true);
    window.mark(number);
    assert.equal(window.isNew(number), false);
  }
});

test('rejects numbers older than the window', () => {
  const window = new ReplayWindow(64);
  window.mark(1000);
  assert.equal(window.isNew(1000 - 63), true);
  assert.equal(window.isNew(1000 - 64), false);
});

test('asking changes nothing', () => {
  const window = new ReplayWindow(64);
  assert.equal(window.isNew(1_000_000), true);
  assert.equal(window.isNew(0), true);
});

test('works up to the largest safe integers', () => {
  const window = new ReplayWindow(64);
  window.mark(Number.MAX_SAFE_INTEGER - 1);
  assert.equal(window.isNew(Number.MAX_SAFE_INTEGER - 1), false);
  assert.equal(window.isNew(Number.MAX_SAFE_INTEGER), true);
  assert.equal(window.isNew(Number.MAX_SAFE_INTEGER - 2), true);
});

test('agrees with a plain set of numbers', () => {
  const size = 96;
  // Steps of a few words, so that words are used again while there are numbers for them; and a few that skip all.
  const step = fc.oneof(
    { arbitrary: fc.integer({ min: -110, max: 70 }), weight: 20 },
    { arbitrary: fc.integer({ min: 0, max: 1000 }), weight: 1 },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
      const window = new ReplayWindow(size);
      const seen = new Set<number>();
      let newest = -1;
      for (const by of steps) {
        const number = Math.max(0, newest + by);
        const isNew = number > newest || (newest - number < size && !seen.has(number));
        assert.equal(window.isNew(number), isNew, `${number} after ${[...seen].join()}`);
        if (!isNew) continue;
        window.mark(number);
        seen.add(number);
        newest = Math.max(newest, number);
      }
    }),
  );
});

test('a jump clears the words that it skips, and no others', () => {
  // Five words: 0 to 159, of which 128 are within the window.
  const window = new ReplayWindow(128);
  for (let number = 0; number < 160; number++) window.mark(number);
  window.mark(160 + 70);
  for (let number = 231 - 128; number < 160; number++) {
    assert.equal(window.isNew(number), false, `${number} was received`);
  }
  for (let number = 160; number < 230; number++) {
    assert.equal(window.isNew(number), true, `${number} was skipped`);
  }
});

test('a window of 2048 takes each number once, and none that is too old', () => {
  const step = fc.oneof(
    fc.integer({ min: -3000, max: 3000 }),
    fc.integer({ min: -40, max: 40 }),
    fc.integer({ min: 0, max: 100_000 }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const window = new ReplayWindow(2048);
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

test('a window survives jumps up to the largest safe integer', () => {
  const window = new ReplayWindow(2048);
  for (const id of [0, 2 ** 32, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER]) {
    assert.ok(window.isNew(id));
    window.mark(id);
    assert.ok(!window.isNew(id));
  }
});
