import assert from 'node:assert/strict';
import { test, describe } from 'node:test';
import { atOnce, Turns, type Steps, TurnShare } from '../../../../src/net/time/turns.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

/** Steps of a millisecond each. */
function* work(clock: ManualClock, steps: number, taken: { count: number }): Steps<string> {
  for (; taken.count < steps; taken.count++) {
    clock.advance(1);
    yield;
  }
  return 'result';
}

test('steps run for eight milliseconds in each turn of the event loop', async () => {
  const clock = new ManualClock();
  const taken = { count: 0 };
  const result = new Turns(clock).run(work(clock, 40, taken));
  const counts: number[] = [];
  while (taken.count < 40) {
    counts.push(taken.count);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(await result, 'result');
  // Turns of this test and of the work may fall together in either order.
  const longest = Math.max(...counts.map((count, i) => count - (counts[i - 1] ?? 0)));
  assert.ok(longest <= 16, `${longest} ms at a stretch`);
});

test('an error in a step is that of the run', async () => {
  const failure = new RangeError('no such thing');
  function* failing(): Steps<void> {
    yield;
    throw failure;
  }
  await assert.rejects(new Turns(new ManualClock()).run(failing()), failure);
  assert.throws(() => atOnce(failing()), failure);
});

test('steps may be taken all at once', () => {
  const clock = new ManualClock();
  assert.equal(atOnce(work(clock, 40, { count: 0 })), 'result');
});

/** Turns that the test begins itself. */
function start(limit: number) {
  const scheduled: (() => void)[] = [];
  const share = new TurnShare(limit, (task) => void scheduled.push(task));
  const done: string[] = [];
  const work = async (name: string): Promise<void> => {
    const turn = share.take();
    if (turn) await turn;
    done.push(name);
  };
  const nextTurn = async (): Promise<void> => {
    for (const task of scheduled.splice(0)) task();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { share, scheduled, done, work, nextTurn };
}

describe('the share of a turn', () => {
  test('is used at once, and the rest waits in order for later turns', async () => {
    const { done, work, nextTurn, scheduled } = start(2);
    const all = Promise.all(['a', 'b', 'c', 'd', 'e'].map(work));
    assert.deepEqual(done, ['a', 'b']);
    await nextTurn();
    assert.deepEqual(done, ['a', 'b', 'c', 'd']);
    await nextTurn();
    await all;
    assert.deepEqual(done, ['a', 'b', 'c', 'd', 'e']);
    await nextTurn();
    assert.equal(scheduled.length, 0, 'nothing is scheduled without work');
  });

  test('of a turn in which others were released does not grow', async () => {
    const { share, work, nextTurn } = start(1);
    void work('a');
    void work('b');
    await nextTurn();
    assert.notEqual(share.take(), undefined, 'b has used this turn');
  });
});
