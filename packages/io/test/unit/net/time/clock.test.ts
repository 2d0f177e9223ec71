import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { LinkClosedError } from '../../../../src/net/errors.ts';
import { unlessAborted } from '../../../../src/net/time/clock.ts';

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
