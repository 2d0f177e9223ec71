import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RuleHits } from '../../../../src/dashboard/rules/rules-topic.ts';
import { readerMonitor } from '../reader/support.ts';

function counted() {
  const monitor = readerMonitor();
  monitor.setStatus({ routes: { rules_since: 2, groups: [] } });
  const hits = new RuleHits(() => 1000);
  return { monitor, hits };
}

const flow = (rule: number | null) => ({ rule, plane_epoch: 3 });

const NONE = { blocked: 0, failed: 0 };

describe('the hits of rules', () => {
  test('nothing is counted before the first list', () => {
    const { monitor, hits } = counted();
    monitor.listedAt = undefined;
    monitor.addFlow(1, flow(0));
    hits.update(monitor);
    assert.deepEqual(hits.of(0), { open: 0, taken: 0, ...NONE });
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
    assert.deepEqual(hits.of(0), { open: 1, taken: 2, ...NONE });
    assert.deepEqual(hits.of(null), { open: 1, taken: 1, ...NONE });
    assert.deepEqual(hits.state, {
      by: 'here',
      since: 1000,
      counted: 3,
      ...NONE,
      missed: 0,
      certain: true,
    });
  });

  test('what Weir counts has blocked and failed flows, and misses none', () => {
    const { monitor, hits } = counted();
    const rules = [
      { rule: 0, opened: 5, blocked: 0, failed: 2, last_at: 9 },
      { rule: 4, opened: 0, blocked: 7, failed: 0, last_at: 9 },
      { rule: null, opened: 3, blocked: 0, failed: 1, last_at: 9 },
    ];
    monitor.setStatus({
      routes: { rules_since: 2, groups: [], taken: { since: 500, rules, more: 0 } },
    });
    monitor.addFlow(5, flow(0));
    hits.update(monitor);
    assert.deepEqual(
      [hits.of(0), hits.of(4), hits.of(1), hits.of(null)],
      [
        { open: 1, taken: 7, blocked: 0, failed: 2 },
        { open: 0, taken: 7, blocked: 7, failed: 0 },
        { open: 0, taken: 0, ...NONE },
        { open: 0, taken: 4, blocked: 0, failed: 1 },
      ],
    );
    assert.deepEqual(hits.state, {
      by: 'weir',
      since: 500,
      counted: 18,
      blocked: 7,
      failed: 3,
      missed: 0,
      certain: true,
    });
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
    assert.deepEqual([hits.of(0), hits.state.counted], [{ open: 0, taken: 0, ...NONE }, 0]);
  });

  test('counting begins anew with other rules and with another process', () => {
    const { monitor, hits } = counted();
    monitor.addFlow(5, flow(0));
    hits.update(monitor);
    monitor.setStatus({ routes: { rules_since: 4, groups: [] } });
    hits.update(monitor);
    assert.deepEqual(hits.of(0), { open: 0, taken: 0, ...NONE });
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
