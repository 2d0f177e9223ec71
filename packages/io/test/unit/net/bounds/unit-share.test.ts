import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import {
  GRANT_UNITS,
  GRANTS_A_TURN,
  SPENT_GRANTS_A_TURN,
  UnitShare,
  UnitTurns,
} from '../../../../src/net/bounds/units.ts';

/** Turns that the test begins itself. */
function start() {
  const scheduled: (() => void)[] = [];
  const turns = new UnitTurns((task) => void scheduled.push(task));
  const nextTurn = async (): Promise<void> => {
    for (const task of scheduled.splice(0)) task();
    await settled();
  };
  /** A decoder that never ends: it counts the grants that it has used. */
  const greedy = (holder?: unknown): { grants: number } => {
    const share = new UnitShare(holder, turns);
    const used = { grants: 0 };
    const grant = (): Promise<void> | undefined => share.take(GRANT_UNITS);
    void (async () => {
      for (;;) {
        await grant();
        used.grants++;
      }
    })();
    return used;
  };
  return { turns, scheduled, nextTurn, greedy };
}

describe('the share of decoded units', () => {
  test('costs nothing where a connection has few units', () => {
    const { turns, scheduled } = start();
    const share = new UnitShare(undefined, turns);
    for (let i = 0; i < 31; i++) assert.equal(share.take(1), undefined);
    assert.equal(scheduled.length, 0, 'no turn is scheduled');
  });

  test('of one connection is that of a turn, and the rest waits for later turns', async () => {
    const { turns, nextTurn, scheduled } = start();
    const share = new UnitShare(undefined, turns);
    let units = 0;
    const decode = async (): Promise<void> => {
      for (; units < 100_000; units++) {
        const wait = share.take(1);
        if (wait) await wait;
      }
    };
    const done = decode();
    let before = units;
    assert.ok(before <= GRANTS_A_TURN * GRANT_UNITS, `${before} units in the first turn`);
    let count = 1;
    while (units < 100_000) {
      await nextTurn();
      assert.ok(units - before <= (GRANTS_A_TURN + 1) * GRANT_UNITS);
      assert.ok(units > before, 'every turn goes on');
      before = units;
      count++;
    }
    await done;
    assert.ok(count >= 100_000 / (GRANTS_A_TURN * GRANT_UNITS));
    await nextTurn();
    await nextTurn();
    assert.equal(scheduled.length, 0, 'nothing is scheduled without work');
  });

  test('of all connections together is that of a turn, in a fair round', async () => {
    const { nextTurn, greedy } = start();
    const all = Array.from({ length: 40 }, () => greedy());
    const sum = (): number => all.reduce((total, { grants }) => total + grants, 0);
    await settled();
    for (let turn = 0; turn < 400; turn++) {
      const before = sum();
      await nextTurn();
      assert.ok(sum() - before <= GRANTS_A_TURN);
    }
    const grants = all.map((used) => used.grants);
    assert.ok(Math.max(...grants) - Math.min(...grants) <= 2, grants.join(' '));
  });

  test('of a connection with few units comes before a round of those with many', async () => {
    const { turns, nextTurn, greedy } = start();
    for (let i = 0; i < 500; i++) greedy();
    // Each gets its first grant as a connection of few units.
    for (let i = 0; i < 100; i++) await nextTurn();
    const honest = new UnitShare(undefined, turns);
    const wait = honest.take(100);
    let isGranted = wait === undefined;
    void wait?.then(() => (isGranted = true));
    await nextTurn();
    assert.ok(isGranted, 'within one turn, not after 500 others');
  });

  test('of many connections of one holder takes nothing from another holder', async () => {
    const { nextTurn, greedy } = start();
    for (let i = 0; i < 60; i++) greedy('user');
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    const other = greedy('other');
    for (let turn = 0; turn < 300; turn++) await nextTurn();
    assert.ok(other.grants >= 300, `one grant a turn, not one of 61: ${other.grants}`);
  });

  test('of a unit that costs more than a turn is paid in several', async () => {
    const { turns, nextTurn, greedy } = start();
    for (let i = 0; i < 10; i++) greedy();
    const share = new UnitShare(undefined, turns);
    const wait = share.take(GRANT_UNITS * 3);
    let isGranted = false;
    void wait?.then(() => (isGranted = true));
    await nextTurn();
    assert.equal(isGranted, false);
    for (let i = 0; i < 20; i++) await nextTurn();
    assert.ok(isGranted);
    assert.ok(SPENT_GRANTS_A_TURN < GRANTS_A_TURN);
  });
});
