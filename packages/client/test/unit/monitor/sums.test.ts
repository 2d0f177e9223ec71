import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'node:test';
import { userKey, userOfKey, WatchedSums, SumsByKey } from '../../../src/monitor/sums.ts';
import type { MonitoredFlow } from '../../../src/monitor/contract.ts';
import { statusOf } from '../../../../../test/support/dashboard/context.ts';
import {
  fakeMonitor,
  flowOf,
  trafficOf,
} from '../../../../../test/support/dashboard/fake-monitor.ts';
import { uncollected } from '../../../../../test/support/process/uncollected.ts';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';

/** Sums of a monitor: `sample` has Weir's counters at a time, `list` the flows. */
function start() {
  const monitor = fakeMonitor();
  const sums = new WatchedSums();
  let tick = 0;
  const sample = (at: number, down: number): void => {
    monitor.traffic = trafficOf({ tick: tick++, at, down });
    sums.update(monitor);
  };
  const list = (at: number, flows: readonly MonitoredFlow[]): void => {
    monitor.list(at, flows);
    sums.update(monitor);
  };
  const restart = (): void => void (tick = 0);
  return { monitor, sums, sample, list, restart };
}

test('bytes are counted since the first list, those of closed flows too', () => {
  const { monitor, sums, sample, list } = start();
  sums.update(monitor);
  sample(900, 500);
  assert.equal(sums.coverage.since, undefined);
  list(1_000, [flowOf(1, { host: 'a', down: 500 })]);
  sample(1_900, 500);
  const later = [
    flowOf(1, { host: 'a', down: 800 }, { downRate: 300 }),
    flowOf(2, { host: 'b', sniffed: 'c', up: 50 }, { closedAt: 1_500 }),
  ];
  for (const at of [2_000, 7_000, 12_000]) {
    list(at, later);
    sums.update(monitor);
    sample(at + 900, 860);
  }
  assert.deepEqual(sums.hosts.largest('bytes', 5), [
    { key: 'a', bytes: 300, rate: 300, flows: 1 },
    { key: 'c', bytes: 50, rate: 0, flows: 0 },
  ]);
  assert.deepEqual(sums.coverage, {
    since: 1_000,
    total: 360,
    unattributed: 10,
    unattributedRate: 1,
    missed: 0,
  });
});

test('what was missed is unattributed, and events count from the start of the sums', () => {
  const { monitor, sums, sample, list } = start();
  monitor.missed = 7;
  sample(0, 0);
  list(500, []);
  monitor.missed = 9;
  for (let at = 1; at < 60; at++) {
    sample(at * 1_000, Math.min(at, 30) * 100);
    list(at * 1_000 + 500, []);
  }
  assert.equal(sums.coverage.missed, 2);
  assert.equal(sums.coverage.unattributed, 2_900, 'all but what was before the start');
  assert.equal(sums.coverage.unattributedRate, 0, 'it has grown half a minute ago');
});

test('traffic before the first list, and after the last one, is not missing', () => {
  const { sums, sample, list } = start();
  // 100 bytes per second by one flow; lists are late or early by most of a second.
  const flowAt = (at: number) => [flowOf(1, { down: at / 10 })];
  sample(0, 0);
  list(950, flowAt(950));
  for (let second = 1; second < 30; second++) {
    const at = second * 1_000;
    sample(at, at / 10);
    const listedAt = at + ((second * 370) % 1_000);
    list(listedAt, flowAt(listedAt));
    assert.equal(sums.coverage.unattributed, 0);
  }
  assert.equal(sums.coverage.total, 2_800);
});

test('a flow is kept once, also after its rate alone has changed', async () => {
  const { sums, sample, list } = start();
  sample(900, 0);
  const lists = [
    [flowOf(1, { down: 0 })],
    [flowOf(1, { down: 500 }, { downRate: 100 })],
    [flowOf(1, { down: 500 })],
  ];
  const refs = lists.flatMap((flows) => flows.map(({ view }) => new WeakRef(view)));
  lists.forEach((flows, at) => list(1_000 + at, flows));
  lists.splice(0, 2);
  const [, , last] = refs;
  assert.deepEqual(await uncollected(refs), [last]);
  assert.equal(sums.hosts.total('bytes'), 500);
});

test('a list that came after a later sample is compared with the one before', () => {
  const { monitor, sums, sample, list } = start();
  sample(0, 0);
  list(500, []);
  for (let at = 1_000; at < 30_000; at += 1_000) {
    sample(at, at);
    monitor.traffic = trafficOf({ tick: at, at: at + 900, down: at + 900 });
    list(at + 100, [flowOf(1, { down: at + 100 })]);
  }
  assert.equal(sums.coverage.unattributed, 0);
});

test('nothing that is counted ever falls, whatever is missed', () => {
  const step = fc.record({
    bytes: fc.nat(1000),
    opens: fc.boolean(),
    closes: fc.nat(3),
    isMissed: fc.boolean(),
    pause: fc.integer({ min: 1, max: 900 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const { monitor, sums, sample, list } = start();
      const flows = new Map<number, MonitoredFlow>();
      let [at, total, id] = [0, 0, 0];
      let before = { ...sums.coverage, hosts: 0 };
      sample(at, 0);
      list(at, []);
      for (const { bytes, opens, closes, isMissed, pause } of steps) {
        const open = [...flows.values()].filter(({ closedAt }) => closedAt === undefined);
        const flow = opens ? flowOf((id += 1), { host: `h${id % 3}` }) : open[closes];
        if (flow) {
          total += bytes;
          const view = { ...flow.view, down: flow.view.down + bytes };
          const closedAt = closes === 0 ? at : undefined;
          if (closedAt !== undefined && isMissed) {
            monitor.missed++;
            const known = flows.get(view.id);
            // Its last bytes are not known, or it was never seen.
            if (known) flows.set(view.id, { ...known, closedAt });
          } else flows.set(view.id, { ...flow, view, closedAt });
        }
        sample((at += pause), total);
        list((at += pause), [...flows.values()]);
        const { total: counted, unattributed, missed } = sums.coverage;
        const hosts = sums.hosts.total('bytes');
        assert.ok(counted >= before.total && unattributed >= before.unattributed);
        assert.ok(missed >= before.missed && hosts >= before.hosts);
        assert.ok(counted - hosts <= unattributed, 'total − sum is unattributed');
        assert.ok(
          sums.hosts.total('bytes') + unattributed <= total,
          'and not more than is missing',
        );
        before = { ...sums.coverage, hosts };
      }
      assert.equal(sums.coverage.missed, monitor.missed);
    }),
  );
});

test('a restart of Weir begins new sums', () => {
  const { sums, sample, list, restart } = start();
  for (const at of [1, 2]) {
    sample(at * 10, at * 100);
    list(at * 10 + 5, [flowOf(1, { host: 'a', up: at * 100 })]);
  }
  assert.equal(sums.hosts.get('a')?.bytes, 100);
  restart();
  sample(100, 5);
  assert.equal(sums.coverage.since, undefined);
  list(105, [flowOf(1, { host: 'b', up: 5 })]);
  assert.deepEqual([sums.coverage.since, sums.coverage.total], [105, 0]);
  assert.deepEqual([...sums.hosts.all()], [{ key: 'b', bytes: 0, rate: 0, flows: 1 }]);
});

test('a restart while no page was open is seen, however much the new process has carried', () => {
  for (const isTold of [true, false]) {
    const { monitor, sums, sample, list } = start();
    const startedAt = (at: number) =>
      isTold && (monitor.status = { value: statusOf({ started_at: at }), at: 0 });
    startedAt(1);
    sample(10, 100);
    list(15, [flowOf(1, { host: 'a', session: 1 })]);
    list(25, [flowOf(1, { host: 'a', session: 1, up: 50 })]);
    startedAt(1_000);
    sample(9_000, 7_000);
    list(9_005, [flowOf(1, { host: 'b', session: isTold ? 1 : 2, up: 4_000 })]);
    assert.deepEqual([sums.coverage.since, sums.coverage.total], [9_005, 0]);
    assert.deepEqual([...sums.hosts.all()], [{ key: 'b', bytes: 0, rate: 0, flows: 1 }]);
    sample(9_500, 7_100);
    sample(9_900, 7_300);
    assert.equal(sums.coverage.total, 200);
  }
});

test('the number of remembered keys is bounded, and those with most bytes stay', () => {
  const sums = new SumsByKey(({ view }) => view.host, 20);
  sums.begin();
  for (let id = 0; id < 100; id++) {
    sums.add(flowOf(id, { host: `h${id}` }, id === 0 ? {} : { closedAt: 1 }), id);
  }
  sums.end();
  assert.ok(sums.size <= 20);
  assert.ok(sums.get('h0'), 'an open flow has its key');
  assert.deepEqual(
    sums.largest('bytes', 2).map(({ key }) => key),
    ['h99', 'h98'],
  );
});

test('what has no key is apart, and forgotten keys are in the total', () => {
  const sums = new SumsByKey(({ view }) => view.source ?? undefined, 2);
  sums.begin();
  sums.add(flowOf(1, { source: null }, { upRate: 5 }), 7);
  for (let id = 2; id < 10; id++) sums.add(flowOf(id, { source: `s${id}` }, { closedAt: 1 }), 10);
  sums.end();
  assert.deepEqual([sums.without('bytes'), sums.without('rate'), sums.total('bytes')], [7, 5, 80]);
});

test('a key of a user names this user alone', () => {
  fc.assert(
    fc.property(fc.string({ unit: CODE_POINT }), fc.option(fc.string()), (inbound, user) =>
      assert.deepEqual(userOfKey(userKey({ inbound, user })), { inbound, user }),
    ),
  );
});
