import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { DeadlineError } from '../../../../src/net/errors.ts';
import { ATTEMPTS_AT_ONCE, RepeatedDial } from '../../../../src/net/sockets/repeated-dial.ts';
import { DIAL_MS, SILENT_ATTEMPT_MS } from '../../../../src/net/time/clock.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

interface Attempt extends PromiseWithResolvers<string> {
  readonly signal: AbortSignal;
  readonly wire: { bytesRead: number; bytesWritten: number };
}

/** A dial whose attempts the test decides. */
function start() {
  const clock = new ManualClock();
  const attempts: Attempt[] = [];
  const discarded: string[] = [];
  const closing = new AbortController();
  const dial = new RepeatedDial<string>({
    clock,
    attempt: (signal, onWire) => {
      const wire = { bytesRead: 0, bytesWritten: 0 };
      onWire(wire);
      const attempt = { ...Promise.withResolvers<string>(), signal, wire };
      signal.addEventListener('abort', () => attempt.reject(signal.reason));
      attempts.push(attempt);
      return attempt.promise;
    },
    discard: (made) => discarded.push(made),
    signal: closing.signal,
  });
  dial.made.catch(() => undefined);
  return { clock, attempts, discarded, closing, dial };
}

test('an attempt that hears nothing gets another beside it, and the first connection wins', async () => {
  const { clock, attempts, discarded, dial } = start();
  clock.advance(SILENT_ATTEMPT_MS);
  clock.advance(SILENT_ATTEMPT_MS);
  assert.equal(attempts.length, 3);
  attempts[1]?.resolve('second');
  attempts[2]?.resolve('third');
  assert.equal(await dial.made, 'second');
  await turn();
  assert.deepEqual(
    attempts.map(({ signal }) => signal.aborted),
    [true, false, true],
  );
  assert.deepEqual(discarded, ['third']);
  assert.equal(clock.timers, 0);
});

test('beside an attempt that hears something there is no other, until it falls silent', () => {
  const { clock, attempts } = start();
  for (let look = 0; look < 3; look++) {
    const [only] = attempts;
    if (only) only.wire.bytesRead += 1;
    clock.advance(SILENT_ATTEMPT_MS);
    assert.equal(attempts.length, 1);
  }
  clock.advance(SILENT_ATTEMPT_MS);
  assert.equal(attempts.length, 2);
});

test('the dial lasts for as long as one that has joined may wait, with a bounded number of attempts', async () => {
  const { clock, attempts, dial } = start();
  for (let ms = 0; ms < 3 * DIAL_MS; ms += 1000) {
    dial.join();
    clock.advance(1000);
    const open = attempts.filter(({ signal }) => !signal.aborted);
    assert.ok(open.length <= ATTEMPTS_AT_ONCE);
  }
  assert.ok(attempts.length > ATTEMPTS_AT_ONCE);
  clock.advance(DIAL_MS);
  await assert.rejects(dial.made, DeadlineError);
  assert.ok(attempts.every(({ signal }) => signal.aborted));
  assert.equal(clock.timers, 0);
});

test('an error that an attempt reports ends the dial, and so does its signal', async () => {
  const failing = start();
  failing.clock.advance(SILENT_ATTEMPT_MS);
  failing.attempts[1]?.reject(new Error('wrong password'));
  await assert.rejects(failing.dial.made, /wrong password/);
  await turn();
  assert.ok(failing.attempts[0]?.signal.aborted);
  const closed = start();
  closed.closing.abort(new Error('closed'));
  await assert.rejects(closed.dial.made, /closed/);
  await turn();
  assert.ok(closed.attempts[0]?.signal.aborted);
  assert.deepEqual([failing.clock.timers, closed.clock.timers], [0, 0]);
});
