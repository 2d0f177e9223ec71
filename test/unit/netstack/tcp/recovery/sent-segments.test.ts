import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { DeliveryRate, SentFacts } from '../../../../../src/congestion/delivery-rate.ts';
import { KEPT_SEGMENT_CAPACITY } from '../../../../../src/netstack/tcp/recovery/recovery-limits.ts';
import {
  SegmentFlag,
  SentSegments,
} from '../../../../../src/netstack/tcp/recovery/sent-segments.ts';

interface Segment {
  start: number;
  end: number;
  sentAt: number;
}

const STEP = fc.oneof(
  { weight: 5, arbitrary: fc.record({ append: fc.integer({ min: 1, max: 100 }) }) },
  { weight: 3, arbitrary: fc.record({ divide: fc.nat(1000), at: fc.nat(99) }) },
  { weight: 3, arbitrary: fc.record({ delist: fc.nat(1000) }) },
  { weight: 2, arbitrary: fc.record({ again: fc.nat(1000) }) },
  { weight: 3, arbitrary: fc.constant('remove' as const) },
);

test('random changes keep both orders, as two sorted arrays have them', () => {
  fc.assert(
    fc.property(fc.array(STEP, { maxLength: 200, size: 'max' }), (steps) => {
      const segments = new SentSegments();
      const rates = new DeliveryRate();
      const model: Segment[] = [];
      let byTime: Segment[] = [];
      let end = 0;
      let now = 0;
      const send = (slot: number, segment: Segment): void => {
        rates.onSent(segments.facts, slot, segment.end - segment.start, 1, ++now);
        segments.enlist(slot, now);
        segment.sentAt = now;
        byTime.push(segment);
      };
      const delist = (index: number): void => {
        const segment = model[index];
        if (!segment || !byTime.includes(segment)) return;
        segments.delist(segments.at(index));
        byTime = byTime.filter((other) => other !== segment);
      };
      for (const step of steps) {
        if (step === 'remove') {
          if (model.length === 0) continue;
          delist(0);
          segments.removeFirst();
          model.shift();
        } else if ('append' in step) {
          const segment = { start: end, end: end + step.append, sentAt: 0 };
          end = segment.end;
          model.push(segment);
          send(segments.append(segment.start, segment.end), segment);
        } else if ('divide' in step) {
          const index = step.divide % Math.max(1, model.length);
          const segment = model[index];
          if (!segment || segment.end - segment.start < 2) continue;
          const offset = segment.start + 1 + (step.at % (segment.end - segment.start - 1));
          segments.divide(index, offset);
          const rest = { start: offset, end: segment.end, sentAt: segment.sentAt };
          segment.end = offset;
          model.splice(index + 1, 0, rest);
          const place = byTime.indexOf(segment);
          if (place >= 0) byTime.splice(place + 1, 0, rest);
        } else if ('delist' in step) {
          delist(step.delist % Math.max(1, model.length));
        } else {
          const index = step.again % Math.max(1, model.length);
          const segment = model[index];
          if (!segment) continue;
          delist(index);
          send(segments.at(index), segment);
        }
        assert.equal(segments.count, model.length);
        for (const [i, segment] of model.entries()) {
          const slot = segments.at(i);
          assert.equal(segments.start(slot), segment.start);
          assert.equal(segments.end(slot), segment.end);
          assert.equal(segments.facts.sentAt(slot), segment.sentAt);
          assert.equal(segments.facts.bytes(slot), segment.end - segment.start);
          assert.equal(segments.find(segment.start), i);
          assert.equal(segments.find(segment.end - 1), i);
          const isListed = (segments.flags(slot) & SegmentFlag.IN_FLIGHT) !== 0;
          assert.equal(isListed, byTime.includes(segment));
        }
        assert.equal(segments.find(end), model.length);
        const oldest = byTime[0];
        assert.equal(
          segments.oldest < 0 ? undefined : segments.start(segments.oldest),
          oldest?.start,
        );
      }
      // The list by time, from its head.
      for (const { start } of byTime) {
        assert.equal(segments.start(segments.oldest), start);
        segments.delist(segments.oldest);
      }
      assert.equal(segments.oldest, -1);
    }),
    { numRuns: 200 },
  );
});

test('the memory of a burst is given back when everything is acknowledged', () => {
  const segments = new SentSegments();
  for (let i = 0; i < 4 * KEPT_SEGMENT_CAPACITY; i++) segments.append(i, i + 1);
  assert.equal(segments.capacity, 4 * KEPT_SEGMENT_CAPACITY);
  while (segments.count > 0) segments.removeFirst();
  assert.equal(segments.capacity, 0);
  assert.equal(segments.start(segments.append(7, 8)), 7);
});

test('a divided packet is counted as one that was sent at once', () => {
  const facts = new SentFacts(2);
  const rates = new DeliveryRate();
  rates.onSent(facts, 0, 1000, 1000, 5);
  facts.divide(0, 1, 300);
  assert.deepEqual([facts.bytes(0), facts.bytes(1)], [300, 700]);
  assert.deepEqual([facts.sentAt(0), facts.sentAt(1)], [5, 5]);
  rates.beginAck();
  rates.onAcked(facts, 0, 15);
  rates.onAcked(facts, 1, 15);
  assert.equal(rates.finishAck(1).rate, 100);
});

test('a connection with nothing in flight holds no table, and begins anew in that of another', () => {
  const first = new SentSegments();
  assert.equal(first.capacity, 0);
  for (let i = 0; i < 10; i++) first.enlist(first.append(i * 100, i * 100 + 100), i);
  first.setLostSentAt(first.at(3), 7);
  const { capacity } = first;
  while (first.count > 0) {
    first.delist(first.at(0));
    first.removeFirst();
  }
  assert.equal(first.capacity, 0);
  assert.deepEqual([first.oldest, first.find(0)], [-1, 0]);
  const [second, third] = [new SentSegments(), new SentSegments()];
  second.enlist(second.append(5, 6), 1);
  third.enlist(third.append(8, 9), 1);
  assert.equal(second.capacity, capacity);
  assert.deepEqual(
    [second.count, second.start(second.oldest), second.flags(second.at(0))],
    [1, 5, 1],
  );
  assert.deepEqual([third.count, third.start(third.oldest), third.flags(third.at(0))], [1, 8, 1]);
});
