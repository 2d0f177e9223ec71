import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { silentLogger } from '@weir/base/log';
import { type Health, Prober } from '../../../../src/engine/balancer.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

function start(over: { intervalMs?: number; timeoutMs?: number; initial?: Health } = {}) {
  const clock = new ManualClock();
  const lines: string[] = [];
  const state = { probes: 0, fail: undefined as string | undefined, hang: false };
  const prober = new Prober({
    outbound: 'member',
    name: 'balancer b: outbound m',
    intervalMs: over.intervalMs ?? 30_000,
    timeoutMs: over.timeoutMs ?? 5_000,
    initial: over.initial ?? 'unknown',
    clock,
    log: {
      ...silentLogger,
      warn: (line) => lines.push(`warn ${String(line)}`),
      info: (line) => lines.push(`info ${String(line)}`),
    },
    probe: (signal) => {
      state.probes++;
      if (state.hang) {
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      }
      return state.fail === undefined ? Promise.resolve() : Promise.reject(new Error(state.fail));
    },
  });
  return { clock, lines, state, prober };
}

describe('a prober', () => {
  test('probes right at start, then an interval after each probe has ended', async () => {
    const { clock, state, prober } = start();
    prober.start();
    assert.equal(state.probes, 1);
    await settle();
    assert.equal(prober.health, 'available');
    clock.advance(29_999);
    assert.equal(state.probes, 1);
    clock.advance(1);
    assert.equal(state.probes, 2);
    prober.stop();
  });

  test('does not start once it has been stopped', async () => {
    const { state, prober } = start();
    prober.stop();
    prober.start();
    await settle();
    assert.equal(state.probes, 0);
  });

  test('a probe that takes too long judges the member unavailable', async () => {
    const { clock, state, prober } = start();
    state.hang = true;
    prober.start();
    clock.advance(4_999);
    await settle();
    assert.equal(prober.health, 'unknown');
    clock.advance(1);
    await settle();
    assert.equal(prober.health, 'unavailable');
    prober.stop();
  });

  test('logs a change once, with the reason', async () => {
    const { clock, state, lines, prober } = start();
    prober.start();
    await settle();
    state.fail = 'connection refused';
    for (let i = 0; i < 3; i++) {
      clock.advance(30_000);
      await settle();
    }
    delete (state as { fail?: string }).fail;
    for (let i = 0; i < 3; i++) {
      clock.advance(30_000);
      await settle();
    }
    assert.deepEqual(lines, [
      'warn balancer b: outbound m is unavailable: connection refused',
      'info balancer b: outbound m is available again',
    ]);
    prober.stop();
  });

  test('an interval of 0 probes back to back, a timeout of 0 leaves a millisecond', async () => {
    const { clock, state, prober } = start({ intervalMs: 0, timeoutMs: 0 });
    state.hang = true;
    prober.start();
    for (let i = 1; i <= 3; i++) {
      assert.equal(state.probes, i);
      clock.advance(1);
      await settle();
      clock.advance(0);
    }
    prober.stop();
  });

  test('probes at once after a dial that contradicts it, and an interval after that', async () => {
    const { clock, state, prober } = start({ intervalMs: 300_000 });
    prober.check('unavailable');
    assert.equal(state.probes, 0, 'before its start');
    prober.start();
    await settle();
    clock.advance(10_000);
    state.fail = 'connection refused';
    prober.check('available');
    assert.equal(state.probes, 1, 'which agrees');
    prober.check('unavailable');
    assert.equal(state.probes, 2);
    await settle();
    assert.deepEqual(prober.result, {
      health: 'unavailable',
      probedAt: 10_000,
      error: 'connection refused',
    });
    prober.check('unavailable');
    clock.advance(299_999);
    assert.equal(state.probes, 2);
    clock.advance(1);
    await settle();
    assert.equal(state.probes, 3);
    state.fail = undefined;
    prober.check('available');
    await settle();
    assert.deepEqual([state.probes, prober.health], [4, 'available']);
    prober.stop();
    prober.check('unavailable');
    assert.deepEqual([state.probes, clock.timers], [4, 0]);
  });

  test('probes one at a time, and once a second at most, however many dials contradict it', async () => {
    const { clock, state, prober } = start();
    prober.start();
    await settle();
    for (let ms = 0; ms < 4_500; ms += 10) {
      prober.check('unavailable');
      prober.check('unavailable');
      await settle();
      clock.advance(10);
    }
    assert.equal(state.probes, 1 + 5);
    assert.equal(clock.timers, 1);
    state.hang = true;
    clock.advance(1_000);
    for (let i = 0; i < 100; i++) prober.check('unavailable');
    assert.equal(state.probes, 1 + 6);
    prober.stop();
  });

  test('repeats a probe that began before a dial which contradicts its result', async () => {
    const { clock, state, prober } = start();
    prober.start();
    prober.check('unavailable');
    prober.check('unavailable');
    assert.equal(state.probes, 1);
    await settle();
    assert.equal(state.probes, 2);
    await settle();
    clock.advance(29_999);
    assert.equal(state.probes, 2);
    prober.stop();
  });

  test('does not put off a probe that is due', async () => {
    const { clock, state, prober } = start({ intervalMs: 500 });
    prober.start();
    await settle();
    for (let i = 0; i < 4; i++) {
      prober.check('unavailable');
      await settle();
      clock.advance(500);
      await settle();
    }
    // One at the start, five at their times, of which the first was brought forward, and one more.
    assert.ok(state.probes >= 5 && state.probes <= 8, String(state.probes));
    prober.stop();
  });

  test('starts from what was known before, and stops without another word', async () => {
    const { clock, state, lines, prober } = start({ initial: 'unavailable' });
    assert.equal(prober.health, 'unavailable');
    state.hang = true;
    prober.start();
    prober.stop();
    await settle();
    assert.deepEqual(lines, []);
    assert.equal(clock.timers, 0);
  });
});
