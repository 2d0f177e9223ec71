import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { LinkClosedError } from '../../../../src/net/errors.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock, TIMERS_IN_A_ROW, unlessAborted } from '../../../../src/net/time/clock.ts';

test('resolves with the result and leaves no listener on the signal', async () => {
  const { signal } = new AbortController();
  assert.equal(await unlessAborted(Promise.resolve(7), signal), 7);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await assert.rejects(unlessAborted(Promise.reject(new Error('no')), signal), /^Error: no$/);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('rejects with the reason of the signal, and a later failure of the promise is handled', async () => {
  const controller = new AbortController();
  const work = Promise.withResolvers<never>();
  const wait = unlessAborted(work.promise, controller.signal);
  const reason = new LinkClosedError('enough');
  controller.abort(reason);
  await assert.rejects(wait, reason);
  // An unhandled rejection would fail this test.
  work.reject(new Error('too late'));
  await new Promise(setImmediate);
});

test('rejects at once when the signal is aborted already', async () => {
  const signal = AbortSignal.abort(new LinkClosedError('before'));
  await assert.rejects(unlessAborted(new Promise(() => undefined), signal), /before/);
});

test('rejects with the error that the caller makes of the reason', async () => {
  const signal = AbortSignal.abort(new LinkClosedError('before'));
  const wait = unlessAborted(new Promise(() => undefined), signal, () => new Error('named'));
  await assert.rejects(wait, /^Error: named$/);
});

test('timers that are due together call back in turns, in order, unless they are cancelled', async () => {
  const fired: number[] = [];
  const last = 6 * TIMERS_IN_A_ROW;
  const timers = Array.from({ length: last + 1 }, (_, index) =>
    systemClock.after(1, () => fired.push(index)),
  );
  // All are due before the event loop looks at one.
  const until = performance.now() + 5;
  while (performance.now() < until);
  for (let before = 0; fired.length < last; before = fired.length) {
    await nextTurn();
    // Those of the timers' phase, and those that have waited.
    assert.ok(fired.length - before <= 2 * TIMERS_IN_A_ROW, `${before} to ${fired.length}`);
    timers[last]?.cancel();
  }
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  assert.deepEqual(
    fired,
    Array.from({ length: last }, (_, index) => index),
  );
});
