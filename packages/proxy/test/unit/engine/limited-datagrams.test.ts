import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Packet } from '@weir/io/links';
import { KEPT_ROOM } from '../../../../io/src/net/bounds/queue-bounds.ts';
import { LimitedDatagrams } from '../../../src/engine/limited-datagrams.ts';
import { BudgetGate } from '../../../../../test/support/links/budget-gate.ts';

test('associations of one account that wait for its rate leave room to those of others', () => {
  const before = KEPT_ROOM.bytes;
  const peer = { host: '192.0.2.1', port: 1 };
  const packet = { data: Buffer.alloc(1400), peer };
  const passed: Packet[] = [];
  const queueAt = (gate: BudgetGate): LimitedDatagrams =>
    new LimitedDatagrams(
      () => gate,
      (sent) => {
        passed.push(sent);
        gate.left -= sent.data.length;
      },
    );
  const gate = new BudgetGate(0);
  const queues = Array.from({ length: 1000 }, () => queueAt(gate));
  for (let i = 0; i < 100; i++) for (const queue of queues) queue.send(packet);
  // Two datagrams each, which is more than a megabyte together.
  const kept = KEPT_ROOM.bytes - before;
  assert.equal(kept, 1000 * 2 * (1400 + 640));

  const other = new BudgetGate(0);
  const one = queueAt(other);
  for (let i = 0; i < 100; i++) one.send(packet);
  assert.equal(KEPT_ROOM.bytes - before - kept, 64 * (1400 + 640));
  other.grant(64 * 1400);
  assert.equal(passed.length, 64);

  gate.grant(1400);
  assert.equal(passed.length, 65);
  for (const queue of queues) queue.close();
  assert.equal(KEPT_ROOM.bytes, before);
});

test('associations of one account that wait have equal shares of its room', () => {
  const passed = new Map<string, number>();
  const gate = new BudgetGate(0);
  const queues = Array.from({ length: 64 }, (_each, index) => {
    const peer = { host: `192.0.2.${index}`, port: 1 };
    const queue = new LimitedDatagrams(
      () => gate,
      ({ peer: { host } }) => passed.set(host, (passed.get(host) ?? 0) + 1),
    );
    return { queue, packet: { data: Buffer.alloc(1400), peer } };
  });
  for (let i = 0; i < 100; i++) for (const { queue, packet } of queues) queue.send(packet);
  gate.grant(1e9);
  assert.deepEqual(new Set(passed.values()), new Set([8]));
});
