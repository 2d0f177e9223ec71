import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createConnectionsTopic,
  createDetailsTopic,
} from '../../../../src/dashboard/connections/source.ts';
import type {
  ConnectionListView,
  ConnectionDetails,
} from '../../../../src/dashboard/connections/view.ts';
import type { JsonValue } from '../../../../src/dashboard/shared/protocol.ts';
import type { MonitoredFlow } from '@weir/client/monitor';
import { contextOf } from '../../../../../../test/support/dashboard/context.ts';
import { fakeMonitor, flowOf } from '../../../../../../test/support/dashboard/fake-monitor.ts';

function listOf(...flows: readonly MonitoredFlow[]) {
  const monitor = fakeMonitor();
  const clock = { now: 0 };
  const topic = createConnectionsTopic(contextOf({ monitor, now: () => clock.now }));
  const list = (...next: readonly MonitoredFlow[]): void => {
    monitor.list(clock.now, next);
    monitor.changed();
  };
  list(...flows);
  const view = (parameters: JsonValue = {}): ConnectionListView =>
    topic.view(parameters) as unknown as ConnectionListView;
  return { monitor, clock, list, view };
}

const ids = ({ rows }: ConnectionListView) => rows.map(({ id }) => id);

const THREE = [
  flowOf(1, { host: 'b.example', user: 'ann', outbound: 'tokyo', up: 5 }, { upRate: 10 }),
  flowOf(2, { host: 'a.example', user: 'ben', outbound: 'osaka', up: 50 }),
  flowOf(3, { host: 'c.example', user: 'ann', outbound: 'tokyo', up: 1 }, { downRate: 20 }),
] as const;

test('connections are sorted by any column', () => {
  const { view } = listOf(...THREE);
  for (const [sort, descending, expected] of [
    ['age', false, [3, 2, 1]],
    ['age', true, [1, 2, 3]],
    ['host', false, [2, 1, 3]],
    ['host', true, [3, 1, 2]],
    ['up', true, [2, 1, 3]],
    ['rate', true, [3, 1, 2]],
    ['rate', false, [2, 1, 3]],
    // Equal ones: the youngest first.
    ['user', false, [3, 1, 2]],
    ['outbound', false, [2, 3, 1]],
  ] as const) {
    assert.deepEqual(ids(view({ sort, descending })), expected, `${sort} ${descending}`);
  }
});

test('connections without a rate follow the others, the youngest first', () => {
  const { view } = listOf(flowOf(1), flowOf(2, {}, { upRate: 5 }), flowOf(3), flowOf(4));
  assert.deepEqual(ids(view({ sort: 'rate', descending: true })), [2, 4, 3, 1]);
  assert.deepEqual(ids(view({ sort: 'rate', descending: false })), [4, 3, 1, 2]);
});

test('a page gets its window and the counts', () => {
  const { view } = listOf(
    ...Array.from({ length: 1000 }, (_, index) =>
      flowOf(index, {}, index % 2 ? {} : { closedAt: 1 }),
    ),
  );
  const window = view({ sort: 'age', descending: true, first: 500, count: 3 });
  assert.deepEqual(ids(window), [500, 501, 502]);
  assert.deepEqual(
    [window.first, window.total, window.matching, window.flows],
    [500, 1000, 500, 500],
  );
  assert.deepEqual(ids(view({ sort: 'age', descending: true, first: 5000, count: 2 })), [998, 999]);
  assert.equal(view({}).rows.length, 60);
});

test('a filter with a problem has no rows, and others are counted against all', () => {
  const { view } = listOf(...THREE);
  assert.match(view({ filter: 'foo:1' }).problem?.message ?? '', /foo/);
  const some = view({ filter: 'user:ann' });
  assert.deepEqual([ids(some), some.matching, some.flows], [[3, 1], 2, 3]);
});

test('groups have the sums of their open flows, and list those that are opened', () => {
  const closed = flowOf(4, { outbound: 'tokyo', up: 1000 }, { closedAt: 1 });
  const { view } = listOf(...THREE, closed);
  const { rows } = view({ group: 'outbound', sort: 'up', descending: true });
  assert.deepEqual(
    rows.map((row) => 'group' in row && [row.group, row.flows, row.up, row.downRate]),
    [
      ['osaka', 1, 50, 0],
      ['tokyo', 2, 6, 20],
    ],
  );
  const opened = view({ group: 'outbound', sort: 'up', descending: true, open: ['tokyo'] });
  assert.deepEqual(ids(opened), ['group osaka', 'group tokyo', 4, 1, 3]);
});

test('groups without a sum in the sorted column are ordered by their flows, the most first', () => {
  const { view } = listOf(...THREE);
  for (const sort of ['age', 'host', 'user', 'rule'] as const) {
    for (const descending of [false, true]) {
      const groups = ids(view({ group: 'outbound', sort, descending }));
      assert.deepEqual(groups, ['group tokyo', 'group osaka'], `${sort} ${descending}`);
    }
  }
  const ascending = ids(view({ group: 'outbound', sort: 'up', descending: false }));
  assert.deepEqual(ascending, ['group tokyo', 'group osaka']);
});

test('frozen rows keep their places, and new flows are counted', () => {
  const { list, view } = listOf(...THREE);
  const parameters = { sort: 'up', descending: true, freeze: 'one' };
  assert.deepEqual(ids(view(parameters)), [2, 1, 3]);
  list(flowOf(1, { up: 500 }), flowOf(3, {}, { closedAt: 7 }), flowOf(8, { up: 900 }));
  const later = view(parameters);
  assert.deepEqual([ids(later), later.fresh], [[2, 1, 3], 1]);
  const [gone, grown, closed] = later.rows;
  assert.ok(gone && 'closedAt' in gone && gone.closedAt !== null, 'the forgotten one is closed');
  assert.equal(grown?.up, 500);
  assert.ok(closed && 'closedAt' in closed && closed.closedAt === 7);
  const renewed = view({ ...parameters, freeze: 'two' });
  assert.deepEqual([ids(renewed), renewed.fresh], [[8, 1, 3], 0]);
});

test('rows are arranged once for all pages until the monitor tells of a change', () => {
  const { monitor, list, view } = listOf(flowOf(1), flowOf(2));
  assert.equal(view().total, 2);
  monitor.list(1, [flowOf(3)]);
  assert.deepEqual(ids(view({ first: 1, count: 1 })), [1], 'the next row of the same order');
  list(flowOf(3));
  assert.deepEqual(ids(view()), [3]);
});

test('an order that no page has asked for in a minute is forgotten', () => {
  const { clock, list, view } = listOf(flowOf(1), flowOf(2));
  const freeze = { freeze: 'word' };
  assert.deepEqual(ids(view(freeze)), [2, 1]);
  clock.now = 59_000;
  list(flowOf(3));
  assert.deepEqual(ids(view(freeze)), [2, 1]);
  clock.now = 59_000 + 60_000;
  list(flowOf(3));
  assert.deepEqual(ids(view(freeze)), [3]);
});

test('foreign parameters are refused', () => {
  const { view } = listOf();
  for (const parameters of [
    { filter: 7 },
    { sort: 'constructor' },
    { group: 'x' },
    { first: -1 },
    { count: 61 },
    { count: 1.5 },
    { open: 'tokyo' },
    { open: [1] },
    { open: Array.from({ length: 51 }, () => '') },
    { filter: 'x'.repeat(2000) },
  ] satisfies readonly JsonValue[]) {
    assert.throws(() => view(parameters), { code: 'bad-request' }, JSON.stringify(parameters));
  }
});

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
