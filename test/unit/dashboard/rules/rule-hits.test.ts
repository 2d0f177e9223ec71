import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RuleHits } from '../../../../src/dashboard/rules/rule-hits.ts';
import { readerMonitor } from '../reader/support.ts';

function counted() {
  const monitor = readerMonitor();
  monitor.setStatus({ routes: { rules_since: 2, groups: [] } });
  const hits = new RuleHits(() => 1000);
  return { monitor, hits };
}

const flow = (rule: number | null) => ({ rule, plane_epoch: 3 });

describe('the hits of rules', () => {
  test('nothing is counted before the first list', () => {
    const { monitor, hits } = counted();
    monitor.listedAt = undefined;
    monitor.addFlow(1, flow(0));
    hits.update(monitor);
    assert.deepEqual(hits.of(0), { open: 0, taken: 0 });
  });

  test('open flows, and those that were seen', () => {
    const { monitor, hits } = counted();
    monitor.addFlow(5, flow(0));
    monitor.addFlow(6, flow(null));
    hits.update(monitor);
    monitor.addFlow(5, flow(0), 99);
    monitor.addFlow(7, flow(0));
    hits.update(monitor);
    hits.update(monitor);
    assert.deepEqual(hits.of(0), { open: 1, taken: 2 });
    assert.deepEqual(hits.of(null), { open: 1, taken: 1 });
    assert.deepEqual(hits.state, { since: 1000, counted: 3, missed: 0, certain: true });
  });

  test('flows that came and went unseen are known to be missing', () => {
    const { monitor, hits } = counted();
    monitor.addFlow(5, flow(0));
    hits.update(monitor);
    monitor.addFlow(9, flow(0));
    hits.update(monitor);
    assert.deepEqual([hits.state.counted, hits.state.missed], [2, 3]);
  });

  test('flows that other rules have routed do not count', () => {
    const { monitor, hits } = counted();
    monitor.addFlow(5, { rule: 0, plane_epoch: 1 });
    hits.update(monitor);
    assert.deepEqual([hits.of(0), hits.state.counted], [{ open: 0, taken: 0 }, 0]);
  });

  test('counting begins anew with other rules and with another process', () => {
    const { monitor, hits } = counted();
    monitor.addFlow(5, flow(0));
    hits.update(monitor);
    monitor.setStatus({ routes: { rules_since: 4, groups: [] } });
    hits.update(monitor);
    assert.deepEqual(hits.of(0), { open: 0, taken: 0 });
    monitor.setStatus({ pid: 8, routes: { rules_since: 0, groups: [] } });
    monitor.flows = new Map();
    monitor.addFlow(1, flow(0));
    hits.update(monitor);
    assert.deepEqual([hits.of(0).taken, hits.state.missed], [1, 0]);
  });

  test('without the control socket, what the rules of flows were is not certain', () => {
    const { monitor, hits } = counted();
    monitor.status = undefined;
    monitor.addFlow(5, flow(0));
    hits.update(monitor);
    assert.deepEqual([hits.of(0).open, hits.state.certain], [1, false]);
  });
});
