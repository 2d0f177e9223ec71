import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeliveryRate, SentFacts } from '../../../../../congestion/src/delivery-rate.ts';
import { KEPT_SEGMENT_CAPACITY } from '../../../../src/limits.ts';
import { SentSegments } from '../../../../src/tcp/recovery/sent-segments.ts';

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
