import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnBudget } from '../../../../src/platform/sockets/poller.ts';

const READ = 64 << 10;

/** A budget on a clock, and turns that return how many reads they had. */
function start() {
  let now = 1000;
  let processor = 0;
  const budget = new TurnBudget({ now: () => now, processor: () => processor });
  /** @param milliseconds of work for each read; @param most reads that there are; @param waits for the processor. */
  const turn = (milliseconds: number, most = Infinity, waits = 0): number => {
    let reads = 0;
    budget.begin();
    for (; budget.mayMove && reads < most; reads++) {
      budget.move(READ);
      now += milliseconds;
      processor += milliseconds;
    }
    now += waits;
    budget.end();
    return reads;
  };
  return { budget, turn, pass: (milliseconds: number) => (now += milliseconds) };
}

test('turns move twice as much as the one before while that takes little, up to 4 MB', () => {
  const { turn } = start();
  const reads = Array.from({ length: 7 }, () => turn(1 / 128));
  assert.deepEqual(reads, [2, 4, 8, 16, 32, 64, 64]);
});

test('turns move less once their work has taken too long, and one read at least', () => {
  const { turn } = start();
  for (let i = 0; i < 6; i++) turn(1 / 128);
  assert.equal(turn(2), 64);
  // 128 ms have led to what takes 10.
  assert.equal(turn(2), 5);
  assert.equal(turn(200), 10);
  assert.equal(turn(200), 1);
  assert.equal(turn(200), 1);
  assert.deepEqual([turn(1 / 128), turn(1 / 128), turn(1 / 128)], [1, 2, 4]);
});

test('a turn after quiet ones moves no more than 128 KB', () => {
  const { turn } = start();
  for (let i = 0; i < 6; i++) turn(1 / 128);
  assert.equal(turn(1 / 128, 1), 1);
  assert.equal(turn(1 / 128), 2);
});

test('a turn that waited for the processor is not slow', () => {
  const { turn } = start();
  for (let i = 0; i < 6; i++) turn(1 / 128);
  assert.equal(turn(1 / 128, Infinity, 100), 64);
  assert.equal(turn(1 / 128), 64);
});

test('a slow turn that moved less than a read has no effect', () => {
  const { budget, turn, pass } = start();
  budget.begin();
  budget.move(READ - 1);
  pass(1000);
  budget.end();
  assert.equal(turn(0), 2);
});
