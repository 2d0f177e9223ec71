import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Prober, type Health } from '../../../../src/engine/balancer/prober.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { silentLogger } from '../../../../src/log/output.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

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
