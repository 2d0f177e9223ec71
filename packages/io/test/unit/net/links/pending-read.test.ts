import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PendingRead } from '../../../../src/net/links/read-queue.ts';

describe('a pending read', () => {
  test('settles once, and may be followed by another', async () => {
    const pending = new PendingRead<number>();
    const first = pending.wait(undefined);
    assert.ok(pending.isPending);
    pending.resolve(1);
    pending.resolve(2);
    pending.reject(new Error('late'));
    assert.equal(await first, 1);
    assert.ok(!pending.isPending);
    const second = pending.wait(undefined);
    pending.resolve(undefined);
    assert.equal(await second, undefined);
  });

  test('is over when its signal aborts, so that nothing is taken for it', async () => {
    const pending = new PendingRead<number>();
    const abort = new AbortController();
    const read = pending.wait(abort.signal);
    abort.abort(new Error('enough'));
    assert.ok(!pending.isPending);
    await assert.rejects(read, /enough/);
  });

  test('leaves no listener at the signal of a read that was settled', async () => {
    const pending = new PendingRead<number>();
    const abort = new AbortController();
    for (const settle of [() => pending.resolve(1), () => pending.reject(new Error('no'))]) {
      const read = pending.wait(abort.signal);
      settle();
      await read.catch(() => undefined);
    }
    const next = pending.wait(undefined);
    abort.abort();
    assert.ok(pending.isPending, 'the signal is of earlier reads');
    pending.resolve(3);
    assert.equal(await next, 3);
  });
});
