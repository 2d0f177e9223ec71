import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pacer } from '../../src/send-control.ts';

const MTU = 1250;

/** Sends whatever the pacer allows at each timer, for so long; returns bytes and the largest burst. */
function run(pacer: Pacer, from: number, duration: number, lateness: (at: number) => number) {
  let now = from;
  let bytes = 0;
  let largest = 0;
  for (;;) {
    let burst = 0;
    while (pacer.budget(now) > 0) {
      pacer.onSent(MTU, now);
      burst += MTU;
    }
    bytes += burst;
    if (now > from) largest = Math.max(largest, burst);
    now = pacer.nextTime(now);
    now += lateness(now);
    if (now > from + duration) return { bytes, largest };
  }
}

test('ten packets may leave at once when a connection begins', () => {
  const pacer = new Pacer(MTU);
  pacer.setRate(1, 0);
  assert.equal(run(pacer, 0, 1, () => 0).bytes, 10 * MTU);
});

test('the rate is kept, in bursts of a millisecond', () => {
  for (const rate of [10, 1000, 10_000, 60_000]) {
    const pacer = new Pacer(MTU);
    pacer.setRate(rate, 0);
    const { bytes, largest } = run(pacer, 0, 10_000, () => 0);
    const sent = bytes - 10 * MTU;
    assert.ok(Math.abs(sent / (rate * 10_000) - 1) < 0.05, `${sent} bytes at ${rate}`);
    assert.ok(largest <= Math.max(2 * MTU, rate) + MTU, `${largest} bytes at once at ${rate}`);
  }
});

test('late timers do not cost their share of the rate', () => {
  const pacer = new Pacer(MTU);
  pacer.setRate(5000, 0);
  const { bytes } = run(pacer, 0, 10_000, (at) => Math.ceil(at) - at + 0.5);
  assert.ok(Math.abs((bytes - 10 * MTU) / 50_000_000 - 1) < 0.02, `${bytes} bytes`);
});

test('a low rate is kept by timers that are tens of milliseconds late', () => {
  const pacer = new Pacer(MTU);
  pacer.setRate(1000, 0);
  const { bytes } = run(pacer, 0, 1000, (at) => (at % 100 < 50 ? 0 : 40));
  assert.ok(Math.abs((bytes - 10 * MTU) / 1_000_000 - 1) < 0.05, `${bytes} bytes`);
  assert.equal(pacer.takeBehind(), false);
});

test('a timer that is too late to be made up for is reported, once', () => {
  const pacer = new Pacer(MTU);
  pacer.setRate(20_000, 0);
  const due = (now: number): number => {
    while (pacer.budget(now) > 0) pacer.onSent(MTU, now);
    return pacer.nextTime(now);
  };
  const next = due(due(0)) + 3;
  assert.ok(pacer.budget(next) > 0);
  assert.equal(pacer.takeBehind(), false);
  const late = due(next) + 20;
  assert.ok(pacer.budget(late) > 65_536);
  assert.ok(pacer.budget(late) < 3 * 65_536, 'it does not leave at once either');
  assert.equal(pacer.takeBehind(), true);
  assert.equal(pacer.takeBehind(), false);
});

test('a pause earns no more than one burst', () => {
  const pacer = new Pacer(MTU);
  pacer.setRate(5000, 0);
  run(pacer, 0, 100, () => 0);
  pacer.onNothingToSend();
  assert.ok(pacer.budget(100_000) <= 5000);
  const idle = new Pacer(MTU);
  idle.setRate(5000, 0);
  for (let i = 0; i < 12; i++) idle.onSent(MTU, 0);
  assert.equal(idle.budget(100_000), 5000);
});

test('a burst is no larger than one send, and no smaller than two packets', () => {
  const pacer = new Pacer(MTU);
  pacer.setRate(1e6, 0);
  assert.equal(pacer.burst, 65_536);
  pacer.setRate(1, 0);
  assert.equal(pacer.burst, 2 * MTU);
});

test('a clock that stands still or goes back changes nothing', () => {
  const pacer = new Pacer(MTU);
  pacer.setRate(100, 10);
  pacer.onSent(20 * MTU, 10);
  const due = pacer.nextTime(10);
  assert.equal(pacer.budget(5), -10 * MTU);
  assert.equal(pacer.nextTime(10), due);
});
