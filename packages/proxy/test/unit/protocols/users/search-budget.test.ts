import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { SearchBudget } from '../../../../src/protocols/users/user-search.ts';

/** Runs searches of that many milliseconds each, until the budget is exhausted. */
function searches(budget: SearchBudget, clock: ManualClock, milliseconds: number): number {
  let count = 0;
  const search = (): boolean => {
    clock.advance(milliseconds);
    return true;
  };
  while (budget.spend(search)) count++;
  return count;
}

test('searches may take 20 ms at once, and a fifth of the time after that', () => {
  const clock = new ManualClock();
  const budget = new SearchBudget(clock);
  // What passes during a search counts as time as well.
  assert.equal(searches(budget, clock, 5), 5);
  for (let i = 0; i < 10; i++) {
    clock.advance(25);
    assert.ok(searches(budget, clock, 5) <= 2);
  }
  const began = clock.now();
  let count = 0;
  while (clock.now() < began + 10_000) {
    clock.advance(1);
    count += searches(budget, clock, 5);
  }
  assert.ok(count >= 390 && count <= 410, `${count} searches of 5 ms in 10 s`);
});

test('a pause saves no more than 20 ms', () => {
  const clock = new ManualClock();
  const budget = new SearchBudget(clock);
  clock.advance(3_600_000);
  assert.equal(searches(budget, clock, 10), 3);
});

test('a search that takes longer than there is time is paid for by those after it', () => {
  const clock = new ManualClock();
  const budget = new SearchBudget(clock);
  assert.equal(searches(budget, clock, 220), 1);
  // 200 ms were owed, of which the search itself took 44 back: the rest takes 780 ms.
  clock.advance(779);
  assert.equal(searches(budget, clock, 1), 0);
  clock.advance(2);
  assert.equal(searches(budget, clock, 1), 1);
});

test('a search that finds no user costs its time, and so does one that fails', () => {
  const clock = new ManualClock();
  const budget = new SearchBudget(clock);
  let tried = 0;
  const unknownClient = (): undefined => {
    tried++;
    clock.advance(15);
    return undefined;
  };
  for (let i = 0; i < 10; i++) budget.spend(unknownClient);
  assert.equal(tried, 2);
  clock.advance(1000);
  assert.throws(() =>
    budget.spend(() => {
      clock.advance(100);
      throw new RangeError('none');
    }),
  );
  assert.equal(searches(budget, clock, 1), 0);
});
