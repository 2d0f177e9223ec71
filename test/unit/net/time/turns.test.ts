import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce, Turns, type Steps } from '../../../../src/net/time/turns.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

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
