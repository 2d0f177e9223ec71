import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { Mutex } from '../../../src/app/mutex.ts';

test('one at a time gets through, in the order of asking', async () => {
  const mutex = new Mutex();
  const log: string[] = [];
  let inside = 0;
  const work = async (name: string): Promise<void> => {
    const release = await mutex.acquire();
    inside++;
    assert.equal(inside, 1);
    log.push(name);
    await turn();
    inside--;
    release();
  };
  await Promise.all(['a', 'b', 'c', 'd'].map(work));
  assert.deepEqual(log, ['a', 'b', 'c', 'd']);
});

test('one that gives up leaves, and those behind it still wait for the one before', async () => {
  const mutex = new Mutex();
  const release = await mutex.acquire();
  const leaving = new AbortController();
  const second = mutex.acquire(leaving.signal);
  let through = false;
  const third = mutex.acquire().then((done) => {
    through = true;
    return done;
  });
  const reason = new Error('has gone');
  leaving.abort(reason);
  await assert.rejects(second, reason);
  await turn();
  assert.equal(through, false);
  release();
  (await third)();
  assert.equal(through, true);
});

test('a signal that has aborted before is rejected while another caller holds the lock', async () => {
  const mutex = new Mutex();
  const release = await mutex.acquire();
  const reason = new Error('has gone');
  await assert.rejects(mutex.acquire(AbortSignal.abort(reason)), reason);
  release();
  (await mutex.acquire())();
});

test('a signal that aborts inside changes nothing', async () => {
  const mutex = new Mutex();
  const controller = new AbortController();
  const release = await mutex.acquire(controller.signal);
  controller.abort();
  let through = false;
  const next = mutex.acquire().then((done) => {
    through = true;
    return done;
  });
  await turn();
  assert.equal(through, false);
  release();
  (await next)();
});

test('releasing twice admits no other caller', async () => {
  const mutex = new Mutex();
  const first = await mutex.acquire();
  first();
  first();
  const second = await mutex.acquire();
  let through = false;
  const third = mutex.acquire().then((done) => {
    through = true;
    return done;
  });
  first();
  await turn();
  assert.equal(through, false);
  second();
  (await third)();
});

test('an abort in the turn in which the lock is released wins, and the next one gets it', async () => {
  const mutex = new Mutex();
  const release = await mutex.acquire();
  const controller = new AbortController();
  const second = mutex.acquire(controller.signal);
  const third = mutex.acquire();
  const reason = new Error('has gone');
  release();
  controller.abort(reason);
  await assert.rejects(second, reason);
  (await third)();
});
