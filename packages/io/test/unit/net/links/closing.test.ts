import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import {
  closeGracefully,
  DelayedReset,
  LinkWatch,
  onClosed,
} from '../../../../src/net/links/closing.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { REJECTED_CLIENT_MS, RESET_DELAY_MS } from '../../../../src/net/time/clock.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { countReactions } from '../../../../../../test/support/process/count-reactions.ts';
import { uncollected } from '../../../../../../test/support/process/uncollected.ts';

test('sends the response and its end before it drops what the peer still sends', async () => {
  const [link, peer] = linkPair();
  const clock = new ManualClock();
  const closed = closeGracefully(link, clock, { response: Buffer.from('no') });
  assert.equal(String(await peer.read()), 'no');
  assert.equal(await peer.read(), undefined);
  await peer.write(Buffer.alloc(1000));
  await peer.closeWrite();
  await closed;
  assert.equal(await peer.closed, undefined);
  assert.equal(clock.timers, 0);
});

test('destroys the link of a peer that does not close, when the time is over', async () => {
  const [link, peer] = linkPair();
  const clock = new ManualClock();
  const closed = closeGracefully(link, clock);
  assert.equal(await peer.read(), undefined);
  clock.advance(REJECTED_CLIENT_MS - 1);
  await peer.write(Buffer.from('more'));
  clock.advance(1);
  await closed;
  await link.closed;
  await assert.rejects(async () => peer.write(Buffer.from('more')));
});

test('destroys the link of a peer that sends more than the limit', async () => {
  const [link, peer] = linkPair();
  const closed = closeGracefully(link, new ManualClock(), { limitBytes: 10 });
  await peer.write(Buffer.alloc(9));
  await peer.write(Buffer.alloc(1));
  await closed;
  await link.closed;
});

test('resolves for a link that has failed already', async () => {
  const [link] = linkPair();
  link.destroy(new Error('reset'));
  const clock = new ManualClock();
  await closeGracefully(link, clock, { response: Buffer.from('no') });
  assert.equal(clock.timers, 0);
});

function start(untaken: number) {
  const clock = new ManualClock();
  const state = { untaken, resets: 0 };
  const reset = new DelayedReset(
    clock,
    () => state.untaken,
    () => state.resets++,
  );
  return { clock, state, reset };
}

describe('a delayed reset', () => {
  test('happens at once when the peer has taken everything', () => {
    const { clock, state } = start(0);
    assert.deepEqual([state.resets, clock.timers], [1, 0]);
  });

  test('happens soon after the peer has taken the rest', () => {
    const { clock, state } = start(10);
    clock.advance(1000);
    assert.equal(state.resets, 0);
    state.untaken = 0;
    clock.advance(100);
    assert.deepEqual([state.resets, clock.timers], [1, 0]);
  });

  test('waits as long as the peer takes something, and RESET_DELAY_MS more', () => {
    const { clock, state } = start(10);
    for (; state.untaken > 5; state.untaken--) clock.advance(RESET_DELAY_MS - 100);
    assert.equal(state.resets, 0);
    clock.advance(RESET_DELAY_MS + 100);
    assert.deepEqual([state.resets, clock.timers], [1, 0]);
  });

  test('does not happen once it was cancelled', () => {
    const { clock, state, reset } = start(10);
    reset.cancel();
    clock.advance(2 * RESET_DELAY_MS);
    assert.deepEqual([state.resets, clock.timers], [0, 0]);
  });
});

test('a watch that is stopped leaves the link readable', async () => {
  const [link, peer] = linkPair();
  const watch = new LinkWatch(link);
  assert.deepEqual(await watch.stop(), { kind: 'stopped' });
  assert.deepEqual(await watch.stop(), { kind: 'stopped' });
  await peer.write(Buffer.from('one'));
  assert.equal(String(await link.read()), 'one');
});

test('by default the first chunk ends the watch and is put back', async () => {
  const [link, peer] = linkPair();
  const watch = new LinkWatch(link);
  await peer.write(Buffer.from('one'));
  await peer.write(Buffer.from('two'));
  assert.deepEqual(await watch.result, { kind: 'bytes' });
  assert.equal(String(await link.read()), 'one');
  assert.equal(String(await link.read()), 'two');
});

test('chunks up to the limit are put back in their order, short ones counted as 1024 bytes', async () => {
  const [link, peer] = linkPair();
  const watch = new LinkWatch(link, 3 * 1024);
  for (const text of ['one', 'two', 'three']) await peer.write(Buffer.from(text));
  assert.deepEqual(await watch.result, { kind: 'bytes' });
  for (const text of ['one', 'two', 'three']) assert.equal(String(await link.read()), text);
});

test('the end of the stream and a failure end the watch', async () => {
  const [ended, peer] = linkPair();
  const first = new LinkWatch(ended);
  await peer.closeWrite();
  assert.deepEqual(await first.result, { kind: 'end' });

  const [reset] = linkPair();
  const second = new LinkWatch(reset);
  const error = new Error('reset');
  reset.destroy(error);
  assert.deepEqual(await second.result, { kind: 'failure', error });
});

describe('listeners for the end of a link', () => {
  test('are called once each when it has closed, later ones as well', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const called: string[] = [];
    onClosed(promise, () => called.push('first'));
    onClosed(promise, () => called.push('second'));
    await settle();
    assert.equal(called.length, 0);
    resolve();
    await settle();
    assert.deepEqual(called, ['first', 'second']);
    onClosed(promise, () => called.push('late'));
    await settle();
    assert.deepEqual(called, ['first', 'second', 'late']);
  });

  test('are not called once removed, be it by another listener', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const called: string[] = [];
    const removeFirst = onClosed(promise, () => called.push('first'));
    onClosed(promise, () => {
      called.push('second');
      removeThird();
    });
    const removeThird = onClosed(promise, () => called.push('third'));
    removeFirst();
    removeFirst();
    resolve();
    await settle();
    assert.deepEqual(called, ['second']);
  });

  test('are removed one by one when one function was given twice', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let calls = 0;
    const listener = (): void => void calls++;
    const remove = onClosed(promise, listener);
    onClosed(promise, listener);
    remove();
    resolve();
    await settle();
    assert.equal(calls, 1);
  });

  test('cost the promise one reaction, however many come and go', () => {
    const { promise } = Promise.withResolvers<void>();
    const reactions = countReactions(promise);
    for (let i = 0; i < 1000; i++) onClosed(promise, () => undefined)();
    assert.equal(reactions(), 1);
  });

  test('are not kept by a pending promise after they were removed', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const passing = (): WeakRef<object> => {
      const held = { calls: 0 };
      onClosed(promise, () => held.calls++)();
      return new WeakRef(held);
    };
    assert.deepEqual(await uncollected([passing(), passing()]), []);
    resolve();
  });
});
