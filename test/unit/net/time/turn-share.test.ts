import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TurnShare } from '../../../../src/net/time/turn-share.ts';

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
