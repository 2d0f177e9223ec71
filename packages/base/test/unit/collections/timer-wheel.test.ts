import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TimerWheel, type Timed } from '../../../src/collections/timer-wheel.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

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
