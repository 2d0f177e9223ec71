import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  DeadlineQueue,
  NamedDeadlines,
  type Scheduled,
  type Timed,
  TimerWheel,
} from '../../src/timers.ts';
import { SeededRandom } from '../../../../test/support/simnet/seeded-random.ts';

interface Alarm extends Timed {
  readonly name: number;
  deadline: number;
}

const alarm = (name: number, deadline = Infinity): Alarm => ({
  name,
  deadline,
  slot: -1,
  tick: 0,
  nextTimed: undefined,
  previousTimed: undefined,
});

/** Everything that is due, in the order in which it is taken. */
function drain(wheel: TimerWheel<Alarm>, now: number): Alarm[] {
  const taken: Alarm[] = [];
  for (;;) {
    const item = wheel.take(now);
    if (item === undefined) return taken;
    taken.push(item);
  }
}

describe('the timer wheel', () => {
  test('nothing is taken before its deadline, and everything at it', () => {
    for (const start of [0, 0.5, 63, 1_000_000.25, 2 ** 33 + 17]) {
      for (const delay of [0, 0.25, 1, 63, 64, 65, 4095, 4096, 4097, 262_144, 3_600_000]) {
        const wheel = new TimerWheel<Alarm>(start);
        const item = alarm(0);
        wheel.schedule(item, start + delay);
        const due = Math.ceil(start + delay);
        assert.ok(wheel.earliest <= due);
        assert.deepEqual(drain(wheel, due - 0.001), []);
        assert.equal(wheel.earliest, due, `${start} + ${delay}`);
        assert.deepEqual(drain(wheel, due), [item]);
        assert.equal(wheel.earliest, Infinity);
        assert.equal(wheel.size, 0);
      }
    }
  });

  test('a later deadline leaves the element where it is, an earlier one moves it', () => {
    const wheel = new TimerWheel<Alarm>(0);
    const item = alarm(0);
    wheel.schedule(item, 100);
    wheel.schedule(item, 5000);
    assert.deepEqual(drain(wheel, 100), [item]);
    wheel.schedule(item, 5000);
    wheel.schedule(item, 200);
    assert.deepEqual(drain(wheel, 199), []);
    assert.deepEqual(drain(wheel, 200), [item]);
    wheel.schedule(item, Infinity);
    assert.equal(wheel.size, 0);
  });

  test('an element that was removed does not come up', () => {
    const wheel = new TimerWheel<Alarm>(0);
    const items = [alarm(0), alarm(1), alarm(2)];
    for (const item of items) wheel.schedule(item, 10);
    const [, second] = items as [Alarm, Alarm, Alarm];
    wheel.remove(second);
    wheel.remove(second);
    assert.deepEqual(
      drain(wheel, 10)
        .map(({ name }) => name)
        .toSorted((a, b) => a - b),
      [0, 2],
    );
  });

  test('a deadline in the past is due at once, also one set while others are taken', () => {
    const wheel = new TimerWheel<Alarm>(1000);
    const items = [alarm(0), alarm(1)] as const;
    wheel.schedule(items[0], 3);
    assert.equal(wheel.earliest, 1000);
    assert.equal(wheel.take(1000), items[0]);
    wheel.schedule(items[1], 1000);
    assert.equal(wheel.take(1000), items[1]);
  });

  test('deadlines beyond its horizon come up early and can be set again', () => {
    const wheel = new TimerWheel<Alarm>(0);
    const item = alarm(0);
    const deadline = 48 * 3_600_000;
    wheel.schedule(item, deadline);
    let wakes = 0;
    for (let now = 0; now < deadline; wakes++) {
      now = wheel.earliest;
      for (const early of drain(wheel, now)) if (now < deadline) wheel.schedule(early, deadline);
    }
    assert.equal(wheel.size, 0);
    assert.ok(wakes < 100, `${wakes} wakes`);
  });

  test('random deadlines come up as those of a sorted list do', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = new SeededRandom(seed);
      let now = random.below(2 ** 31);
      const wheel = new TimerWheel<Alarm>(now);
      const items = Array.from({ length: 200 }, (_, name) => alarm(name));
      for (let step = 0; step < 2000; step++) {
        const item = items[random.below(items.length)] as Alarm;
        const action = random.below(10);
        if (action < 6) {
          item.deadline = now + random.below(2 ** (1 + random.below(22))) / 4;
          wheel.schedule(item, item.deadline);
        } else if (action === 6) {
          item.deadline = Infinity;
          wheel.remove(item);
        } else {
          now += random.below(2 ** (1 + random.below(17))) / 4;
          for (const taken of drain(wheel, now)) {
            if (Math.ceil(taken.deadline) > now) wheel.schedule(taken, taken.deadline);
            else taken.deadline = Infinity;
          }
          const left = items.filter(({ deadline }) => deadline !== Infinity);
          const first = Math.min(...left.map(({ deadline }) => Math.ceil(deadline)), Infinity);
          assert.ok(first > now, `seed ${seed}: one was not taken`);
          assert.ok(wheel.earliest <= first, `seed ${seed}: it would come too late`);
          assert.ok(wheel.earliest > now, `seed ${seed}: a deadline in the past`);
          assert.equal(wheel.size, left.length);
        }
      }
    }
  });
});

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

const create = (): NamedDeadlines<'idle' | 'close' | 'pacing'> =>
  new NamedDeadlines(['idle', 'close', 'pacing']);

test('none is set at first, and the earliest of those that are set is the next', () => {
  const deadlines = create();
  assert.deepEqual([deadlines.next, deadlines.isSet('idle')], [Infinity, false]);
  deadlines.set('idle', 30);
  deadlines.set('pacing', 10.5);
  deadlines.set('close', 20);
  assert.equal(deadlines.next, 10.5);
  deadlines.clear('pacing');
  assert.equal(deadlines.next, 20);
  deadlines.set('close', 40);
  assert.deepEqual([deadlines.next, deadlines.at('close')], [30, 40]);
  deadlines.clearAll();
  assert.deepEqual([deadlines.next, deadlines.at('close')], [Infinity, Infinity]);
});

test('a deadline is due at its time, and taken once', () => {
  const deadlines = create();
  deadlines.set('idle', 30);
  assert.deepEqual([deadlines.isDue('idle', 29.9), deadlines.take('idle', 29.9)], [false, false]);
  assert.deepEqual([deadlines.isDue('idle', 30), deadlines.isSet('idle')], [true, true]);
  assert.deepEqual([deadlines.take('idle', 30), deadlines.take('idle', 31)], [true, false]);
  assert.equal(deadlines.isSet('idle'), false);
});

test('one that is not set is never due', () => {
  assert.equal(create().take('close', Number.MAX_SAFE_INTEGER), false);
});
