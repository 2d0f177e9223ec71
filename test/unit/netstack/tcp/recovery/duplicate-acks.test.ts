import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DuplicateAcks } from '../../../../../src/netstack/tcp/recovery/duplicate-acks.ts';
import { MAX_SEGMENTS } from '../../../../../src/netstack/tcp/recovery/recovery-limits.ts';

test('RFC 6582 §3.2: a partial acknowledgement takes back the segments that duplicates have counted', () => {
  const duplicates = new DuplicateAcks();
  for (let i = 0; i < 5; i++) duplicates.onDuplicate();
  // The retransmitted segment and two others, the last of them not full.
  duplicates.onPartialAck(2500, 1000);
  assert.equal(duplicates.count, 3);
  duplicates.onPartialAck(100_000, 1000);
  assert.equal(duplicates.count, 0);
});

test('duplicates are counted up to as many segments as may be outstanding', () => {
  const duplicates = new DuplicateAcks();
  for (let i = 0; i < MAX_SEGMENTS + 10; i++) duplicates.onDuplicate();
  assert.equal(duplicates.count, MAX_SEGMENTS);
  duplicates.clear();
  assert.equal(duplicates.count, 0);
});
