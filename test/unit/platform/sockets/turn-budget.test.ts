import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnBudget } from '../../../../src/platform/sockets/turn-budget.ts';

const READ = 64 << 10;
const MOST = 4 << 20;

/** A budget on a clock, and a turn that moves what it may, with so many milliseconds of work for each read. */
function start() {
  let now = 1000;
  const budget = new TurnBudget(() => now);
  const turn = (milliseconds: number): number => {
    let moved = 0;
    budget.begin();
    for (; budget.mayMove; moved += READ) {
      budget.move(READ);
      now += milliseconds;
    }
    budget.end();
    return moved;
  };
  return { budget, turn, pass: (milliseconds: number) => (now += milliseconds) };
}

test('turns move less once their work has taken too long, and one read at least', () => {
  const { turn } = start();
  assert.equal(turn(2), MOST);
  // 128 ms have led to what takes 10.
  assert.equal(turn(2), 5 * READ);
  assert.equal(turn(200), 5 * READ);
  assert.equal(turn(200), READ);
  assert.equal(turn(200), READ);
});

test('turns move more again when their work takes little', () => {
  const { turn } = start();
  turn(2);
  turn(200);
  const moved = Array.from({ length: 8 }, () => turn(0.01));
  assert.deepEqual(
    moved,
    [1, 2, 4, 8, 16, 32, 64, 64].map((reads) => reads * READ),
  );
});

test('a turn that moved less than a read has no effect, however long it took', () => {
  const { budget, turn, pass } = start();
  budget.begin();
  budget.move(READ - 1);
  pass(1000);
  budget.end();
  assert.equal(turn(0), MOST);
});
