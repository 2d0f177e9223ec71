import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDetailsTopic } from '../../../../src/dashboard/connections/source.ts';
import type { ConnectionDetails } from '../../../../src/dashboard/connections/view.ts';
import { contextOf } from '../../../../../../test/support/dashboard/context.ts';
import { fakeMonitor, flowOf } from '../../../../../../test/support/dashboard/fake-monitor.ts';

test('details have the other flows of the session and what is alike', () => {
  const monitor = fakeMonitor();
  monitor.list(0, [
    flowOf(1, { session: 4, user: 'ann b', outbound: 'tokyo', rule: 2 }),
    flowOf(2, { session: 4, user: 'ann b', outbound: 'osaka', rule: null }),
    flowOf(3, { session: 5, user: 'ann b', outbound: 'tokyo', rule: 2 }, { closedAt: 1 }),
  ]);
  const topic = createDetailsTopic(contextOf({ monitor }));
  const details = topic.view({ id: 1 }) as unknown as ConnectionDetails;
  assert.ok(details);
  assert.deepEqual([details.others.map(({ id }) => id), details.otherCount], [[2], 1]);
  const alike = Object.fromEntries(details.alike.map(({ filter, flows }) => [filter, flows]));
  assert.deepEqual(alike, {
    'session:4': 2,
    'user:"ann b"': 2,
    'src:127.0.0.1': 2,
    'host:example.com': 2,
    'out:tokyo': 1,
    'in:in': 2,
    'rule:2': 1,
  });
  assert.equal(topic.view({ id: 9 }), null);
});
