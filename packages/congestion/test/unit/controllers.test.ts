import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Bbr } from '../../src/bbr/bbr.ts';
import { Brutal } from '../../src/brutal.ts';
import type { CongestionController } from '../../src/controller.ts';
import { Cubic } from '../../src/cubic.ts';
import { NewReno } from '../../src/classic-window.ts';
import { SeededRandom } from '../../../../test/support/simnet/seeded-random.ts';
import { PACKET, ControllerRig } from '../../../../test/support/congestion/controller-rig.ts';

const CONTROLLERS: readonly (() => CongestionController)[] = [
  () => new NewReno(PACKET),
  () => new Cubic(PACKET),
  () => new Bbr(PACKET, new SeededRandom(1)),
  () => new Brutal(500, PACKET),
];

for (const create of CONTROLLERS) {
  const { name } = create();

  test(`${name} keeps window, rate and bytes in flight sane whatever happens`, () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant('send' as const), count: fc.integer({ min: 1, max: 30 }) }),
      fc.record({
        kind: fc.constant('acknowledge' as const),
        count: fc.integer({ min: 1, max: 30 }),
      }),
      fc.record({ kind: fc.constant('lose' as const), count: fc.integer({ min: 1, max: 10 }) }),
      fc.record({
        kind: fc.constantFrom('limited', 'persistent', 'spurious', 'marked', 'discard', 'mtu'),
        count: fc.integer({ min: 1, max: 3 }),
      }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(event, fc.double({ min: 0, max: 6000, noNaN: true })), {
          maxLength: 80,
          size: 'max',
        }),
        (events) => {
          const rig = new ControllerRig(create(), 0);
          const { control } = rig;
          let oldest = 0;
          for (const [{ kind, count }, wait] of events) {
            rig.now += wait;
            const waiting = Math.min(count, rig.next - oldest);
            if (kind === 'send') rig.send(count);
            else if (kind === 'acknowledge' && waiting > 0) {
              rig.acknowledge(oldest, waiting);
              oldest += waiting;
            } else if (kind === 'lose') {
              for (let i = 0; i < waiting; i++) rig.lose(oldest++);
            } else if (kind === 'discard' && waiting > 0) control.onDiscarded(rig.facts, oldest++);
            else if (kind === 'limited') control.onAppLimited();
            else if (kind === 'persistent') control.onPersistentCongestion(rig.now);
            else if (kind === 'spurious') control.onSpuriousLoss(rig.now, rig.now - wait);
            else if (kind === 'marked') control.onCongestionExperienced(rig.now, rig.now - wait);
            else if (kind === 'mtu') control.onMtu(PACKET + count * 100);
            const { window, pacingRate } = control.controller;
            assert.ok(Number.isFinite(window) && window >= 2 * PACKET, `window ${window}`);
            assert.ok(Number.isFinite(pacingRate) && pacingRate > 0, `rate ${pacingRate}`);
            assert.equal(control.inFlight, (rig.next - oldest) * PACKET);
            assert.ok(control.nextSendTime(rig.now) >= 0);
          }
        },
      ),
    );
  });
}

test('a round trip that takes no time gives no infinite rate', () => {
  for (const create of CONTROLLERS) {
    const rig = new ControllerRig(create());
    for (let i = 0; i < 20; i++) rig.acknowledge(rig.send(2), 2);
    assert.ok(Number.isFinite(rig.control.controller.pacingRate));
    assert.ok(Number.isFinite(rig.control.controller.window));
  }
});

test('several losses of one round trip reduce the window once (RFC 9002 section 7.3.2)', () => {
  for (const [create, factor] of [
    [() => new NewReno(PACKET), 0.5],
    [() => new Cubic(PACKET), 0.7],
  ] as const) {
    const rig = new ControllerRig(create());
    for (let i = 0; i < 4; i++) rig.round(50);
    const before = rig.control.controller.window;
    rig.send(10);
    rig.now += 50;
    for (let number = rig.next - 10; number < rig.next - 5; number++) rig.lose(number);
    assert.equal(rig.control.controller.window, before * factor);
  }
});

test('a reduction is undone only when all of its losses were spurious', () => {
  const rig = new ControllerRig(new NewReno(PACKET));
  for (let i = 0; i < 4; i++) rig.round(50);
  const before = rig.control.controller.window;
  const first = rig.send(10);
  rig.now += 50;
  rig.lose(first);
  rig.lose(first + 1);
  const sentAt = rig.facts.sentAt(first);
  rig.control.onSpuriousLoss(rig.now, sentAt);
  assert.equal(rig.control.controller.window, before / 2);
  rig.control.onSpuriousLoss(rig.now, sentAt);
  assert.equal(rig.control.controller.window, before);
});

test('Congestion Experienced reduces the window as a loss does', () => {
  const rig = new ControllerRig(new NewReno(PACKET));
  for (let i = 0; i < 4; i++) rig.round(50);
  const before = rig.control.controller.window;
  rig.send(1);
  rig.control.onCongestionExperienced(rig.now, rig.now);
  assert.equal(rig.control.controller.window, before / 2);
});

test('Brutal forgets losses after five seconds, and says nothing of few packets', () => {
  const brutal = new Brutal(500, PACKET);
  const rig = new ControllerRig(brutal);
  const exchange = (count: number, lost: number): void => {
    const first = rig.send(count);
    rig.now += 50;
    rig.acknowledge(
      first,
      count,
      Array.from({ length: lost }, (_, at) => first + at),
    );
  };
  exchange(40, 10);
  assert.equal(brutal.pacingRate, 500);
  exchange(60, 0);
  assert.ok(Math.abs(brutal.pacingRate - 500 / 0.9) < 1e-9);
  exchange(100, 90);
  assert.equal(brutal.pacingRate, 500 / 0.8);
  rig.now += 6000;
  exchange(60, 0);
  assert.equal(brutal.pacingRate, 500);
  assert.equal(brutal.window, 2 * 500 * rig.control.rtt.smoothed);
});

test('what may be sent is whole packets, and never exceeds the window', () => {
  const rig = new ControllerRig(new NewReno(PACKET));
  const { control } = rig;
  rig.send(9);
  assert.equal(control.allowance(rig.now), PACKET);
  rig.send(1);
  assert.equal(control.allowance(rig.now), 0);
  assert.equal(control.nextSendTime(rig.now), Infinity);
  const half = new ControllerRig(new NewReno(PACKET));
  half.send(9);
  half.control.onMtu(PACKET * 1.5);
  // Room for two thirds of a packet is room for none.
  assert.equal(half.control.allowance(half.now), 0);
});

test('the controller can be exchanged while packets are in flight', () => {
  const rig = new ControllerRig(new Bbr(PACKET, new SeededRandom(1)));
  rig.round(50);
  const first = rig.send(4);
  rig.control.use(new Brutal(100, PACKET));
  rig.now += 50;
  rig.acknowledge(first, 4, [first]);
  assert.equal(rig.control.inFlight, 0);
  assert.equal(rig.control.controller.name, 'brutal');
  assert.equal(rig.control.controller.window, 2 * 100 * rig.control.rtt.smoothed);
});

test('Startup of BBR goes on where the acknowledgements of a round come together', () => {
  const bbr = new Bbr(PACKET, new SeededRandom(1));
  const rig = new ControllerRig(bbr);
  for (let i = 0; i < 8; i++) {
    const first = rig.send(10 * 2 ** i);
    rig.now += 50;
    for (let number = first; number < rig.next; number += 2) rig.acknowledge(number, 2);
  }
  assert.equal(bbr.state, 'startup');
});
