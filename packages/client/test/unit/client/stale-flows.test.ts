import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { staleFlows, type RouteSwitch } from '../../../src/client/pick-route.ts';
import type { FlowView } from '@weir/server/api/views';

const member = (outbound: string) =>
  ({ outbound, health: 'unknown', probed_at: null, error: null }) as const;

const status: Parameters<typeof staleFlows>[2] = {
  routes: {
    rules_since: 3,
    groups: [
      { name: 'News', first_rule: 2, rules: 0 },
      { name: 'Video', first_rule: 2, rules: 2 },
      { name: 'Music', first_rule: 4, rules: 1 },
    ],
  },
  balancers: [{ tag: 'both', strategy: 'failover', members: ['osaka', 'tokyo'].map(member) }],
};

const flow = (id: number, outbound: string, rule: number | null, epoch = 3): FlowView => ({
  id,
  session: null,
  network: 'tcp',
  inbound: 'socks',
  user: null,
  source: null,
  host: 'a.example',
  port: 443,
  sniffed: null,
  outbound,
  outbound_version: 1,
  rule,
  plane_epoch: epoch,
  started_at: 0,
  up: 0,
  down: 0,
});

describe('the flows that a switch leaves on the old target', () => {
  const idsOf = (flows: readonly FlowView[], change: RouteSwitch): number[] | undefined =>
    staleFlows(flows, change, status)?.map(({ id }) => id);
  const video: RouteSwitch = { group: 'Video', from: 'osaka', to: 'tokyo' };

  test('are those of the rules of the group, on that outbound', () => {
    const flows = [
      flow(1, 'osaka', 1),
      flow(2, 'osaka', 2),
      flow(3, 'osaka', 3),
      flow(4, 'osaka', 4),
      flow(5, 'tokyo', 2),
      flow(6, 'osaka', null),
    ];
    assert.deepEqual(idsOf(flows, video), [2, 3]);
    assert.deepEqual(idsOf(flows, { ...video, group: 'News' }), []);
    assert.equal(idsOf(flows, { ...video, group: 'absent' }), undefined);
  });

  test('leave out flows that other rules have routed', () => {
    assert.deepEqual(idsOf([flow(1, 'osaka', 2, 2), flow(2, 'osaka', 2, 4)], video), [2]);
  });

  test('of the default route are those that no rule matched, but not queries for names', () => {
    const flows = [flow(1, 'osaka', null, 1), flow(2, '', null), flow(3, 'osaka', 0)];
    assert.deepEqual(idsOf(flows, { ...video, group: undefined }), [1]);
  });

  test('are those of all members of a balancer, but for the members of the new target', () => {
    const flows = [flow(1, 'osaka', 2), flow(2, 'tokyo', 2), flow(3, 'kyoto', 2)];
    assert.deepEqual(idsOf(flows, { ...video, from: 'both', to: 'kyoto' }), [1, 2]);
    assert.deepEqual(idsOf(flows, { ...video, from: 'both', to: 'tokyo' }), [1]);
    assert.deepEqual(idsOf(flows, { ...video, from: 'tokyo', to: 'both' }), []);
    assert.deepEqual(idsOf(flows, { ...video, from: 'osaka', to: 'osaka' }), []);
  });
});
