import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { endInTurns, FLOWS_ENDED_A_TURN, relay } from '../../../../src/net/links/relay.ts';
import type { ByteLink } from '../../../../src/net/links/link.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const NONE = { addUp: () => undefined, addDown: () => undefined };

/** The turns until `count` reaches `all`, none of which may end more than its share. */
async function turnsUntil(all: number, count: () => number): Promise<number> {
  let turns = 0;
  while (count() < all) {
    const before = count();
    await nextTurn();
    assert.ok(count() - before <= 2 * FLOWS_ENDED_A_TURN, `${count() - before} in a turn`);
    turns++;
  }
  return turns;
}

describe('what ends together', () => {
  test('ends in turns, the first of them at once', async () => {
    await nextTurn();
    await nextTurn();
    let ended = 0;
    const all = endInTurns(
      Array.from({ length: 1000 }, () => undefined),
      () => ended++,
    );
    assert.equal(ended, FLOWS_ENDED_A_TURN);
    assert.ok((await turnsUntil(1000, () => ended)) >= 1000 / FLOWS_ENDED_A_TURN - 2);
    await all;
  });

  test('ends as a whole, whatever one of it throws', async () => {
    const ended: number[] = [];
    const all = endInTurns([1, 2, 3], (item) => {
      if (item === 2) throw new Error('two');
      ended.push(item);
    });
    await assert.rejects(all, /two/);
    assert.deepEqual(ended, [1, 3]);
  });

  test('shares a turn with what else ends', async () => {
    let ended = 0;
    const items = Array.from({ length: 200 }, () => undefined);
    void Promise.all(Array.from({ length: 10 }, () => endInTurns(items, () => ended++)));
    assert.ok((await turnsUntil(2000, () => ended)) >= 2000 / FLOWS_ENDED_A_TURN - 2);
  });
});

test('flows whose carrier fails end in turns, each with its failure', async () => {
  const COUNT = 600;
  const cause = new Error('the carrier is lost');
  const carried: ByteLink[] = [];
  let ended = 0;
  const flows = Array.from({ length: COUNT }, () => {
    const [client] = linkPair();
    const [remote, far] = linkPair();
    carried.push(client);
    void far.closed.then(() => ended++);
    return relay(client, remote, NONE, new ManualClock());
  });
  await nextTurn();
  for (const link of carried) link.destroy(cause);
  const turns = await turnsUntil(COUNT, () => ended);
  assert.ok(turns >= COUNT / FLOWS_ENDED_A_TURN - 2, `${turns} turns`);
  for (const end of await Promise.all(flows)) {
    assert.deepEqual(end, { failure: cause, first: 'client', failed: 'client' });
  }
});
