import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { TwoPeriodMaximum, WindowedMaximum } from '../../src/bbr/path-model.ts';
import { DeliveryRate, SentFacts } from '../../src/delivery-rate.ts';
import { RttEstimator } from '../../src/rtt.ts';

test('the round trip is estimated as RFC 9002 section 5.3 computes it', () => {
  const rtt = new RttEstimator();
  assert.equal(rtt.smoothed, 333);
  rtt.update(100, 10, 5);
  // The first sample is taken as it is.
  assert.deepEqual(
    [rtt.smoothed, rtt.variation, rtt.minimum, rtt.firstSampleAt],
    [100, 50, 100, 5],
  );
  rtt.update(130, 20, 6);
  assert.deepEqual([rtt.smoothed, rtt.variation, rtt.minimum], [101.25, 40, 100]);
  // A delay that would make it less than the minimum is not subtracted.
  rtt.update(105, 20, 7);
  assert.deepEqual([rtt.latest, rtt.smoothed], [105, 101.71875]);
  rtt.restartMinimum();
  assert.equal(rtt.minimum, 105);
});

/** Sends and acknowledges packets of 1,000 bytes in slots of their own. */
function sampler() {
  const rates = new DeliveryRate();
  const facts = new SentFacts(64);
  return {
    rates,
    facts,
    send: (slot: number, inFlight: number, now: number) =>
      rates.onSent(facts, slot, 1000, inFlight * 1000, now),
    acknowledge: (slots: readonly number[], now: number, minRtt = 0) => {
      rates.beginAck();
      for (const slot of slots) rates.onAcked(facts, slot, now);
      return rates.finishAck(minRtt);
    },
  };
}

test('the delivery rate is what arrived while the newest packet was under way', () => {
  const { send, acknowledge } = sampler();
  for (let i = 0; i < 10; i++) send(i, i + 1, i);
  for (let i = 0; i < 9; i++) acknowledge([i], 50 + i * 2);
  const sample = acknowledge([9], 68);
  // Ten packets since the first was sent; the first acknowledgement began nothing.
  assert.equal(sample.delivered, 10_000);
  assert.equal(sample.interval, 68);
  assert.equal(sample.rate, 10_000 / 68);
});

test('acknowledgements that come together do not raise the rate above that of sending', () => {
  const { send, acknowledge } = sampler();
  for (let i = 0; i < 10; i++) send(i, i + 1, i * 10);
  acknowledge([0], 100);
  const sample = acknowledge([1, 2, 3, 4, 5, 6, 7, 8, 9], 100.5);
  assert.ok(sample.rate <= 10_000 / 90, `${sample.rate}`);
});

test('an interval shorter than the least round trip is no measurement', () => {
  const { send, acknowledge } = sampler();
  send(0, 1, 0);
  assert.equal(acknowledge([0], 20, 50).rate, 0);
  send(1, 1, 100);
  assert.equal(acknowledge([1], 150, 50).rate, 20);
});

test('packets sent while the application has too little are marked until they are delivered', () => {
  const { rates, send, acknowledge } = sampler();
  send(0, 1, 0);
  rates.onAppLimited(1000, false);
  send(1, 2, 1);
  assert.equal(acknowledge([0], 50).appLimited, false);
  assert.equal(rates.appLimited, true);
  send(2, 2, 50);
  assert.equal(acknowledge([1], 51).appLimited, true);
  assert.equal(rates.appLimited, false);
  send(3, 2, 52);
  acknowledge([2], 100);
  assert.equal(acknowledge([3], 102).appLimited, false);
});

test('samples say whether flow control or the lack of data limited them', () => {
  const { rates, send, acknowledge } = sampler();
  send(0, 1, 0);
  rates.onAppLimited(1000, true);
  send(1, 2, 1);
  assert.equal(acknowledge([0], 50).flowLimited, false);
  const { appLimited, flowLimited } = acknowledge([1], 51);
  assert.deepEqual([appLimited, flowLimited], [true, true]);
  rates.onAppLimited(0, false);
  send(2, 1, 60);
  const later = acknowledge([2], 110);
  assert.deepEqual([later.appLimited, later.flowLimited], [true, false]);
});

test('a loss reports what was lost and delivered since the packet was sent', () => {
  const { rates, facts, send, acknowledge } = sampler();
  for (let i = 0; i < 6; i++) send(i, i + 1, i);
  acknowledge([2], 50);
  rates.onLost(facts, 0, 51);
  send(6, 5, 52);
  acknowledge([4], 53);
  const loss = rates.onLost(facts, 1, 54);
  assert.deepEqual(
    [loss.bytes, loss.sentAt, loss.inFlightAtSend, loss.lostSinceSend, loss.deliveredSinceSend],
    [1000, 1, 2000, 2000, 2000],
  );
  assert.equal(rates.onLost(facts, 6, 55).lostSinceSend, 2000);
});

test('the facts of a packet can move to a larger ring', () => {
  const { rates, facts, send } = sampler();
  send(3, 1, 7);
  const grown = new SentFacts(128);
  grown.copy(facts, 3, 67);
  assert.deepEqual([grown.sentAt(67), grown.bytes(67)], [7, 1000]);
  assert.equal(rates.onLost(grown, 67, 8).inFlightAtSend, 1000);
});

test('the maximum of a window lies between its newest value and its true maximum', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ value: fc.nat(1000), step: fc.nat(3) }), {
        maxLength: 200,
        size: 'max',
      }),
      fc.integer({ min: 1, max: 20 }),
      (samples, length) => {
        const filter = new WindowedMaximum();
        const seen: { value: number; time: number }[] = [];
        let time = 0;
        for (const { value, step } of samples) {
          time += step;
          seen.push({ value, time });
          filter.update(value, time, length);
          const within = (age: number): number =>
            Math.max(0, ...seen.filter((one) => time - one.time <= age).map((one) => one.value));
          assert.ok(filter.value <= within(length));
          assert.ok(filter.value >= value);
        }
      },
    ),
  );
});

test('the maximum of two periods forgets the one before the last', () => {
  const filter = new TwoPeriodMaximum();
  filter.update(9);
  filter.advance();
  filter.update(5);
  assert.equal(filter.value, 9);
  filter.advance();
  assert.equal(filter.value, 5);
});
