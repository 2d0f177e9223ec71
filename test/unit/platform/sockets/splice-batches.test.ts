import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpliceBatches, type Direction } from '../../../../src/platform/sockets/splice-batches.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const SMALL = 10_000;
const LARGE = 1 << 20;

function directions(count: number): (Direction & { resumed: number })[] {
  return Array.from({ length: count }, () => ({
    window: 0,
    windowBytes: 0,
    isBulk: false,
    resumed: 0,
    resume() {
      this.resumed++;
    },
  }));
}

/** Moves `bytes` in every direction each millisecond from `from` to `until`. */
function move(
  batches: SpliceBatches,
  all: Direction[],
  bytes: number,
  from: number,
  until: number,
) {
  for (let now = from; now < until; now++) {
    for (const direction of all) batches.count(direction, bytes, now);
  }
}

test('a direction is one of bulk above 3 MB a second, and no longer once it slows down', () => {
  const batches = new SpliceBatches(new ManualClock());
  const [bulk, messages] = directions(2);
  assert.ok(bulk && messages);
  move(batches, [bulk], SMALL, 0, 60);
  move(batches, [messages], 1000, 60, 120);
  assert.deepEqual([bulk.isBulk, messages.isBulk], [true, false]);
  move(batches, [bulk], 1000, 120, 180);
  assert.equal(bulk.isBulk, false);
});

test('a few streams of bulk are never held back, nor are many that exchange messages', () => {
  const batches = new SpliceBatches(new ManualClock());
  const few = directions(7);
  move(batches, few, SMALL, 0, 100);
  const many = directions(100);
  move(batches, many, 1000, 100, 200);
  for (const direction of [...few, ...many]) {
    assert.equal(batches.holdsBack(direction, SMALL), false);
  }
});

test('small pieces are held back while many streams of bulk move, large ones are not', () => {
  const batches = new SpliceBatches(new ManualClock());
  const all = directions(8);
  move(batches, all, SMALL, 0, 100);
  for (const direction of all) {
    assert.equal(batches.holdsBack(direction, SMALL), true);
    assert.equal(batches.holdsBack(direction, LARGE), false);
  }
  // After a pause the streams are no crowd any more.
  const [one] = all;
  assert.ok(one);
  move(batches, [one], SMALL, 1000, 1010);
  assert.equal(one.isBulk, true);
  assert.equal(batches.holdsBack(one, SMALL), false);
});

test('directions that are held resume together, once', () => {
  const clock = new ManualClock();
  const batches = new SpliceBatches(clock);
  const all = directions(3);
  for (const direction of all) batches.hold(direction);
  assert.equal(clock.timers, 1);
  assert.ok(all.every(({ resumed }) => resumed === 0));
  clock.advance(100);
  assert.ok(all.every(({ resumed }) => resumed === 1));
  assert.equal(clock.timers, 0);
});
