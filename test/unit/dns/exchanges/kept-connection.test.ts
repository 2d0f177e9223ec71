import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptConnection } from '../../../../src/dns/exchanges/kept-connection.ts';
import { SILENT_ATTEMPT_MS } from '../../../../src/net/time/time-limits.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A server that connections begin to reach from `isUp` on; packets that were sent before are lost. */
function start() {
  const clock = new ManualClock();
  const server = { isUp: false };
  const made: { readonly end: () => void; readonly lose: () => void; ended: boolean }[] = [];
  const kept = new KeptConnection<(typeof made)[number]>(clock, (signal, onEnd) => {
    if (!server.isUp) {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      return promise;
    }
    const connection = {
      ended: false,
      end() {
        connection.ended = true;
        onEnd();
      },
      lose: onEnd,
    };
    made.push(connection);
    return Promise.resolve(connection);
  });
  const ask = (): Promise<number> =>
    kept.use((connection) => Promise.resolve(made.indexOf(connection)), never);
  return { clock, server, made, kept, ask };
}

test('a question that joins a dial which began while the server was down is answered once it is up', async () => {
  const { clock, server, ask, made, kept } = start();
  const first = assert.rejects(ask(), { code: 'timed_out' });
  clock.advance(4500);
  server.isUp = true;
  const next = ask();
  clock.advance(500);
  await first;
  clock.advance(SILENT_ATTEMPT_MS);
  assert.equal(await next, 0);
  assert.equal(await ask(), 0);
  assert.equal(made.length, 1);
  kept.close();
  await turn();
  assert.equal(made[0]?.ended, true);
  assert.equal(clock.timers, 0);
});

test('a connection that was lost is opened anew by the next question, and each waits for its own time', async () => {
  const { clock, server, ask, made } = start();
  server.isUp = true;
  assert.equal(await ask(), 0);
  made[0]?.lose();
  assert.equal(await ask(), 1);
  server.isUp = false;
  made[1]?.lose();
  const failed = [assert.rejects(ask(), { code: 'timed_out' })];
  clock.advance(3000);
  let isOver = false;
  failed.push(
    assert.rejects(
      ask().finally(() => (isOver = true)),
      { code: 'timed_out' },
    ),
  );
  clock.advance(2000);
  await failed[0];
  assert.equal(isOver, false);
  clock.advance(3000);
  await failed[1];
});
