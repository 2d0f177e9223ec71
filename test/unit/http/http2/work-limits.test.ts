import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  RESET_BURST,
  STREAM_WORK,
  UNPROVEN_RESETS,
  UNPROVEN_WORK_A_TURN,
  WORK_A_TURN,
} from '../../../../src/http/http2/limits.ts';
import { WorkLimits } from '../../../../src/http/http2/work-limits.ts';

/** Resets that are allowed at once, up to twice the largest burst. */
function resetsOf(limits: WorkLimits): number {
  let count = 0;
  while (count < 2 * RESET_BURST && limits.countReset(0) === undefined) count++;
  return count;
}

test('a client that was served once has the larger limits, and has them once', () => {
  const limits = new WorkLimits(false);
  assert.equal(limits.isProven, false);
  assert.equal(resetsOf(limits), UNPROVEN_RESETS);
  limits.prove();
  assert.equal(limits.isProven, true);
  assert.equal(resetsOf(limits), RESET_BURST);
  // Another stream that is served does not give them again.
  limits.prove();
  assert.equal(resetsOf(limits), 0);
});

test('a peer that this side has chosen has the larger limits from the beginning', () => {
  const limits = new WorkLimits(true);
  assert.equal(limits.isProven, true);
  assert.equal(resetsOf(limits), RESET_BURST);
});

test('a turn is spent with the work that it may take, by streams opened and streams to read', () => {
  for (const [isProven, most] of [
    [false, UNPROVEN_WORK_A_TURN],
    [true, WORK_A_TURN],
  ] as const) {
    const limits = new WorkLimits(isProven);
    limits.beginTurn();
    assert.equal(limits.isTurnSpent(most - 1), false);
    assert.equal(limits.isTurnSpent(most), true);
    limits.addStream();
    assert.equal(limits.isTurnSpent(most - STREAM_WORK - 1), false);
    assert.equal(limits.isTurnSpent(most - STREAM_WORK), true);
    limits.beginTurn();
    assert.equal(limits.isTurnSpent(most - 1), false);
  }
});
