import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { KeptConnection } from '../../../../src/dns/exchanges/kept-connection.ts';
import { SILENT_ATTEMPT_MS } from '../../../../../io/src/net/time/clock.ts';
import { UnansweredError } from '../../../../src/dns/exchanges/exchange.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const never = new AbortController().signal;
/** A server that connections begin to reach from `isUp` on; packets that were sent before are lost. */
function start() {
  const clock = new ManualClock();
  const server = { isUp: false };
  const made: {
    readonly answered: number;
    readonly end: () => void;
    readonly lose: () => void;
    ended: boolean;
  }[] = [];
  const kept = new KeptConnection<(typeof made)[number]>(clock, (signal, onEnd) => {
    if (!server.isUp) {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      return promise;
    }
    const connection = {
      ended: false,
      answered: 0,
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

/** A server whose connections answer `bound` questions each and then close. */
function bounded(bound: number) {
  const clock = new ManualClock();
  const work = { connections: 0, asked: 0 };
  const kept = new KeptConnection(clock, (_signal, onEnd) => {
    work.connections++;
    const waiting: PromiseWithResolvers<void>[] = [];
    const connection = {
      answered: 0,
      ask(): Promise<void> {
        work.asked++;
        const answer = Promise.withResolvers<void>();
        waiting.push(answer);
        if (waiting.length === 1) setImmediate(serve);
        return answer.promise;
      },
      end: onEnd,
    };
    const serve = (): void => {
      for (const each of waiting.splice(0, bound - connection.answered)) {
        connection.answered++;
        each.resolve();
      }
      if (connection.answered < bound) return;
      onEnd();
      for (const each of waiting.splice(0)) each.reject(new UnansweredError());
    };
    return Promise.resolve(connection);
  });
  const ask = (): Promise<void> => kept.use((connection) => connection.ask(), never);
  return { work, ask };
}

test('a server that answers one question per connection costs work in proportion to the questions', async () => {
  const { work, ask } = bounded(1);
  const questions = 1000;
  await Promise.all(Array.from({ length: questions }, ask));
  assert.equal(work.connections, questions);
  assert.ok(work.asked <= 4 * questions, `${work.asked} questions were sent`);
});

test('a server that closes on a second question before its first answer is asked one at a time', async () => {
  const kept = new KeptConnection(new ManualClock(), (_signal, onEnd) => {
    let pending: PromiseWithResolvers<void> | undefined;
    const connection = {
      answered: 0,
      end: onEnd,
      ask(): Promise<void> {
        const answer = Promise.withResolvers<void>();
        if (pending) {
          onEnd();
          pending.reject(new UnansweredError());
          answer.reject(new UnansweredError());
          return answer.promise;
        }
        pending = answer;
        setImmediate(() => {
          if (pending === answer) connection.answered++;
          pending = undefined;
          answer.resolve();
        });
        return answer.promise;
      },
    };
    return Promise.resolve(connection);
  });
  const ask = (): Promise<void> => kept.use((connection) => connection.ask(), never);
  const outcomes = await Promise.allSettled(Array.from({ length: 60 }, ask));
  assert.ok(outcomes.every(({ status }) => status === 'fulfilled'));
});

test('questions after a bound was learned are no more at once than a connection answers', async () => {
  const { work, ask } = bounded(20);
  await Promise.all(Array.from({ length: 60 }, ask));
  assert.equal(work.connections, 3);
  work.asked = 0;
  await Promise.all(Array.from({ length: 400 }, ask));
  assert.ok(work.asked <= 800, `${work.asked} questions were sent`);
});

test('a server that answers nothing gets three connections, however many questions wait', async () => {
  const { work, ask } = bounded(0);
  const outcomes = await Promise.allSettled(Array.from({ length: 100 }, ask));
  assert.ok(outcomes.every(({ status }) => status === 'rejected'));
  assert.equal(work.connections, 3);
});
