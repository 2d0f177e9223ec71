import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Gate } from '../../../src/limits/gate.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';

/** A flow that always has bytes. */
class Source {
  moved = 0;
  readonly #gate: Gate;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  resume(): void {
    for (;;) {
      const allowed = this.#gate.allowance();
      if (allowed === 0) return this.#gate.wait(this);
      this.moved += allowed;
      this.#gate.charge(allowed);
    }
  }
}

const movedBy = (sources: readonly Source[]): number =>
  sources.reduce((sum, { moved }) => sum + moved, 0);

/** Runs flows at a rate for ten seconds. */
function run(rate: number, flows: number) {
  const clock = new ManualClock();
  const gate = new Gate(clock, () => Infinity);
  gate.setRate(rate);
  const sources = Array.from({ length: flows }, () => new Source(gate));
  for (const source of sources) source.resume();
  clock.advance(10_000);
  return { clock, gate, sources };
}

describe('the rate of an account', () => {
  for (const rate of [2e3, 125e3, 1.25e6, 12.5e6, 125e6]) {
    for (const flows of [1, 64]) {
      test(`is ${rate} bytes a second for ${flows} flows, within 5 % over ten seconds`, () => {
        const { sources } = run(rate, flows);
        const share = movedBy(sources) / (10 * rate);
        assert.ok(share > 0.95 && share <= 1.052, String(share));
      });
    }
  }

  test('is shared equally by its flows', () => {
    const { gate, sources } = run(1.25e6, 8);
    const each = sources.map(({ moved }) => moved);
    // The first one had what the account had saved up.
    assert.ok(Math.max(...each) - Math.min(...each) <= 250_000, String(each));
    assert.equal(gate.waiting, 8);
  });

  test('does not let an idle account save up more than a fifth of a second', () => {
    const clock = new ManualClock();
    const gate = new Gate(clock, () => Infinity);
    gate.setRate(1e6);
    clock.advance(60_000);
    const source = new Source(gate);
    source.resume();
    assert.ok(source.moved <= 200_000 + 10_000, String(source.moved));
  });

  test('may change, and end, while flows wait', () => {
    const { clock, gate, sources } = run(1e3, 2);
    const [first] = sources;
    assert.ok(first);
    gate.setRate(1e6);
    const before = movedBy(sources);
    clock.advance(1_000);
    assert.ok(movedBy(sources) - before > 0.95e6);
    for (const source of sources) gate.forget(source);
    gate.wait({ resume: () => void (first.moved = gate.allowance()) });
    gate.setRate(undefined);
    clock.advance(0);
    assert.deepEqual([first.moved, gate.waiting, clock.timers], [Infinity, 0, 0]);
  });

  test('gives a datagram that overdraws it the time that it costs', () => {
    const clock = new ManualClock();
    const gate = new Gate(clock, () => Infinity);
    gate.setRate(1e4);
    // Two thousand of them had been saved up.
    gate.charge(3000);
    assert.equal(gate.allowance(), 0);
    let resumedAt = 0;
    gate.wait({ resume: () => void (resumedAt = clock.now()) });
    clock.advance(1_000);
    assert.ok(resumedAt >= 100 && resumedAt <= 101, String(resumedAt));
  });
});

describe('a gate', () => {
  test('allows whole bytes at any rate', () => {
    const clock = new ManualClock();
    for (const rate of [2000, 2000.1, 154_320.875, 416_250, 971_250.5, 1e6 / 3, 12.5e9]) {
      const gate = new Gate(clock, () => Infinity);
      gate.setRate(rate);
      const allowed = gate.allowance();
      assert.ok(Number.isInteger(allowed) && allowed > 0, `${allowed} at ${rate}`);
    }
  });

  test('allows what is left of the bytes, and no flow goes on without', () => {
    const clock = new ManualClock();
    let left = 100;
    const gate = new Gate(clock, () => left);
    assert.equal(gate.allowance(), 100);
    left = 0;
    assert.equal(gate.allowance(), 0);
    let resumed = 0;
    gate.wait({ resume: () => void resumed++ });
    clock.advance(10_000);
    assert.equal(resumed, 0);
    assert.equal(clock.timers, 0);
    left = 5;
    gate.wake();
    clock.advance(0);
    assert.equal(resumed, 1);
  });

  test('resumes waiters in order, each once, and none that was forgotten', () => {
    const clock = new ManualClock();
    const gate = new Gate(clock, () => Infinity);
    gate.setRate(1e6);
    gate.charge(300_000);
    const resumed: string[] = [];
    const [a, b, c] = ['a', 'b', 'c'].map((name) => ({ resume: () => void resumed.push(name) }));
    assert.ok(a && b && c);
    for (const waiter of [a, b, a, c]) gate.wait(waiter);
    gate.forget(b);
    clock.advance(1_000);
    assert.deepEqual(resumed, ['a', 'c']);
  });

  test('goes on with the others when one throws', () => {
    const clock = new ManualClock();
    const gate = new Gate(clock, () => Infinity);
    gate.setRate(1e6);
    gate.charge(300_000);
    let resumed = 0;
    gate.wait({
      resume: () => {
        throw new Error('defect');
      },
    });
    gate.wait({ resume: () => void resumed++ });
    assert.throws(() => clock.advance(1_000), /defect/);
    clock.advance(1_000);
    assert.equal(resumed, 1);
  });

  test('resumes many flows in several turns, none of which moves much', () => {
    const clock = new ManualClock();
    const gate = new Gate(clock, () => Infinity);
    gate.setRate(12.5e9);
    // More than a second's bytes are overdrawn, so that all have to wait.
    gate.charge(2 * 2.5e9);
    let mostInTurn = 0;
    let turn = { at: -1, bytes: 0 };
    for (let flow = 0; flow < 1000; flow++) {
      gate.wait({
        resume() {
          const allowed = gate.allowance();
          gate.charge(allowed);
          if (turn.at !== clock.now()) turn = { at: clock.now(), bytes: 0 };
          turn.bytes += allowed;
          mostInTurn = Math.max(mostInTurn, turn.bytes);
        },
      });
    }
    clock.advance(1_000);
    assert.equal(gate.waiting, 0);
    assert.ok(mostInTurn <= (1 << 20) + (256 << 10), String(mostInTurn));
  });
});
