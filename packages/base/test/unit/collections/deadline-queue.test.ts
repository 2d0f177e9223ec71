import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeadlineQueue, type Scheduled } from '../../../src/collections/deadline-queue.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

interface Item extends Scheduled {
  deadline: number;
}

const item = (): Item => ({ place: -1, placedAt: 0, deadline: Infinity });

test('whatever is scheduled, moved and removed, deadlines come up in their order', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = new SeededRandom(seed);
    const queue = new DeadlineQueue<Item>();
    const items = Array.from({ length: 1 + random.below(40) }, item);
    let now = 0;
    for (let step = 0; step < 400; step++) {
      const each = items[random.below(items.length)] as Item;
      switch (random.below(3)) {
        case 0:
          each.deadline = now + random.below(100);
          queue.schedule(each, each.deadline);
          break;
        case 1:
          queue.remove(each);
          each.deadline = Infinity;
          break;
        default:
          now += random.below(20);
          for (let due = queue.take(now); due; due = queue.take(now)) {
            // One that was moved to a later time comes up early, and is placed anew.
            if (due.deadline > now) queue.schedule(due, due.deadline);
            else due.deadline = Infinity;
          }
          break;
      }
      const earliest = Math.min(Infinity, ...items.map(({ deadline }) => deadline));
      assert.ok(queue.earliest <= earliest, `seed ${seed}: a deadline would be missed`);
      const placed = items.filter(({ place }) => place >= 0);
      assert.equal(queue.size, placed.length, `seed ${seed}`);
      assert.equal(new Set(placed.map(({ place }) => place)).size, placed.length);
    }
  }
});

test('a deadline that moves to a later time does not move its element', () => {
  const queue = new DeadlineQueue<Item>();
  const one = item();
  queue.schedule(one, 10);
  queue.schedule(one, 30);
  assert.equal(queue.earliest, 10);
  assert.equal(queue.take(9), undefined);
  assert.equal(queue.take(10), one);
  assert.equal(queue.size, 0);
  queue.schedule(one, 30);
  assert.equal(queue.earliest, 30);
});
