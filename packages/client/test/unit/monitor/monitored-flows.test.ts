import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { CLOSED_MS, MOST_CLOSED } from '../../../src/monitor/limits.ts';
import { MonitoredFlows } from '../../../src/monitor/monitored-flows.ts';
import { flowOf } from '../../../../../test/support/dashboard/fake-monitor.ts';

const view = (id: number, down = 0) => flowOf(id, { down }).view;
const NONE: ReadonlySet<number> = new Set();

const list = (table: MonitoredFlows, at: number, views: readonly ReturnType<typeof view>[]): void =>
  table.list({ flows: views, sessions: [] }, at, NONE);

test('rates are those between two lists', () => {
  const table = new MonitoredFlows();
  list(table, 0, [view(1, 500)]);
  assert.equal(table.flows.get(1)?.downRate, 0);
  list(table, 2_000, [view(1, 4_500)]);
  assert.equal(table.flows.get(1)?.downRate, 2_000);
  list(table, 3_000, [view(1, 4_500)]);
  assert.equal(table.flows.get(1)?.downRate, 0);
});

test('a flow that nothing has changed keeps its identity, for those who compare', () => {
  const table = new MonitoredFlows();
  list(table, 0, [view(1)]);
  const before = table.flows.get(1);
  list(table, 1_000, [view(1)]);
  assert.equal(table.flows.get(1), before);
});

test('what has opened or closed since a list was requested is newer than the list', () => {
  const table = new MonitoredFlows();
  list(table, 0, [view(1), view(2)]);
  table.closed(view(1, 7), 1_005);
  table.opened(view(3));
  table.list({ flows: [view(1), view(2)], sessions: [] }, 1_000, new Set([3]));
  assert.deepEqual(
    [...table.flows].map(([id, flow]) => [id, flow.closedAt, flow.view.down]),
    [
      [1, 1_005, 7],
      [2, undefined, 0],
      [3, undefined, 0],
    ],
  );
});

test('a flow whose end was missed has closed when a list lacks it', () => {
  const table = new MonitoredFlows();
  list(table, 0, [view(1)]);
  list(table, 1_000, []);
  assert.equal(table.flows.get(1)?.closedAt, 1_000);
  table.expire(1_000 + CLOSED_MS);
  assert.equal(table.flows.size, 0);
});

test('flows of another process replace those with the same ids', () => {
  const table = new MonitoredFlows();
  list(table, 0, [view(1, 9_000)]);
  table.closed(view(1, 9_000), 500);
  list(table, 1_000, [view(1, 10)]);
  const flow = table.flows.get(1);
  assert.deepEqual([flow?.closedAt, flow?.view.down, flow?.downRate], [undefined, 10, 0]);
  assert.equal(table.openCount, 1);
});

test('a flow of another process with the same id is not taken for the old one', () => {
  const other = (down: number) => ({ ...view(1, down), started_at: 77_000 });
  // In a list, after an open one: no rate comes of the two.
  const listed = new MonitoredFlows();
  list(listed, 0, [view(1, 500)]);
  list(listed, 1_000, [other(9_000)]);
  assert.equal(listed.flows.get(1)?.downRate, 0);
  assert.equal(listed.flows.get(1)?.view.started_at, 77_000);
  // By an event, after an open and after a closed one.
  for (const isClosed of [false, true]) {
    const table = new MonitoredFlows();
    list(table, 0, [view(1, 500)]);
    if (isClosed) table.closed(view(1, 600), 500);
    table.opened(other(0));
    assert.deepEqual(table.flows.get(1), flowOf(1, { started_at: 77_000 }));
    assert.equal(table.openCount, 1);
    table.closed(other(7), 2_000);
    assert.equal(table.flows.get(1)?.view.down, 7);
    assert.equal(table.openCount, 0);
    table.expire(2_000 + CLOSED_MS);
    assert.equal(table.flows.size, 0);
  }
});

test('flows are in the order of their ids, also those whose event was missed', () => {
  const table = new MonitoredFlows();
  table.opened(view(5));
  list(table, 0, [view(2), view(5)]);
  assert.deepEqual([...table.flows.keys()], [2, 5]);
});

test('flows that have closed are bounded in number', () => {
  const table = new MonitoredFlows();
  for (let id = 0; id < MOST_CLOSED + 10; id++) table.closed(view(id), 1);
  assert.equal(table.flows.size, MOST_CLOSED);
  assert.ok(!table.flows.has(9) && table.flows.has(10));
});

test('whatever comes, the open flows are those of the last list and of the events since', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('opened' as const), id: fc.nat(20) }),
    fc.record({ kind: fc.constant('closed' as const), id: fc.nat(20) }),
    fc.record({ kind: fc.constant('list' as const), ids: fc.uniqueArray(fc.nat(20)) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const table = new MonitoredFlows();
      const open = new Set<number>();
      let now = 0;
      for (const each of steps) {
        now += 10;
        if (each.kind === 'list') {
          list(
            table,
            now,
            each.ids.toSorted((a, b) => a - b).map((id) => view(id)),
          );
          open.clear();
          for (const id of each.ids) open.add(id);
        } else if (each.kind === 'closed') {
          table.closed(view(each.id), now);
          open.delete(each.id);
        } else if (!table.flows.has(each.id)) {
          table.opened(view(each.id));
          open.add(each.id);
        }
        const found = [...table.flows].filter(([, { closedAt }]) => closedAt === undefined);
        assert.deepEqual(new Set(found.map(([id]) => id)), open);
        assert.equal(table.openCount, open.size);
      }
      list(
        table,
        now + 1,
        [...open].sort((a, b) => a - b).map((id) => view(id)),
      );
      const ids = [...table.flows.keys()];
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => a - b),
      );
    }),
  );
});
