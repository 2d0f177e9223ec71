import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DelayedReset } from '../../../../src/net/links/closing.ts';
import { RESET_DELAY_MS } from '../../../../src/net/time/clock.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

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
