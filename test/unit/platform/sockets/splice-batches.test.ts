import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpliceBatches, type Splicer } from '../../../../src/platform/sockets/splice-batches.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const SMALL = 10_000;
const LARGE = 1 << 20;

function directions(count: number): (Splicer & { resumed: number })[] {
  return Array.from({ length: count }, () => ({
    window: 0,
    resumed: 0,
    resume() {
      this.resumed++;
    },
  }));
}

test('a few streams are never held back, whatever the size of their pieces', () => {
  const batches = new SpliceBatches(new ManualClock());
  const few = directions(7);
  for (let now = 0; now < 200; now++) {
    for (const direction of few) assert.equal(batches.isHeldBack(direction, SMALL, now), false);
  }
});

test('small pieces are held back while many streams splice, large ones are not', () => {
  const batches = new SpliceBatches(new ManualClock());
  const all = directions(8);
  const first = all.map((direction) => batches.isHeldBack(direction, SMALL, 0));
  assert.deepEqual(first, [false, false, false, false, false, false, false, true]);
  for (const direction of all) {
    assert.equal(batches.isHeldBack(direction, SMALL, 1), true);
    assert.equal(batches.isHeldBack(direction, LARGE, 1), false);
  }
  // What counted is the last window; after a pause nothing does.
  const [one] = all;
  assert.ok(one);
  assert.equal(batches.isHeldBack(one, SMALL, 21), true);
  assert.equal(batches.isHeldBack(one, SMALL, 500), false);
});

test('directions that are held resume together, once, after a millisecond', () => {
  const clock = new ManualClock();
  const batches = new SpliceBatches(clock);
  const all = directions(3);
  for (const direction of all) batches.hold(direction);
  assert.equal(clock.timers, 1);
  assert.deepEqual(
    all.map(({ resumed }) => resumed),
    [0, 0, 0],
  );
  clock.advance(1);
  clock.advance(100);
  assert.deepEqual(
    all.map(({ resumed }) => resumed),
    [1, 1, 1],
  );
  assert.equal(clock.timers, 0);
});
