import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeasedMonitor } from '../../../src/clash-api/leased-monitor.ts';
import { SharedSnapshots } from '../../../src/clash-api/streams/shared-snapshots.ts';
import { clashSnapshot } from '../../../src/clash-api/translate/connections.ts';
import {
  fakeMonitor,
  flowOf,
  trafficOf,
  type FakeMonitor,
} from '../../../../../test/support/dashboard/fake-monitor.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { factsOf } from './support.ts';

const facts = factsOf();

function snapshotsOf(monitor: FakeMonitor, clock: ManualClock): SharedSnapshots {
  const recent = () => {
    clock.advance(2);
    return Promise.resolve(facts);
  };
  return new SharedSnapshots(new LeasedMonitor(monitor), { recent }, clock);
}

test('a snapshot in pieces has the open flows and the totals', async () => {
  const monitor = fakeMonitor();
  const open = Array.from({ length: 1_000 }, (_, id) => flowOf(id, { host: `h${id}.example` }));
  monitor.list(0, [...open, flowOf(1_000, {}, { closedAt: 1 })], trafficOf({ up: 5, down: 6 }));
  const text = Buffer.concat(await snapshotsOf(monitor, new ManualClock()).latest()).toString();
  assert.match(text, /\}\n$/);
  const views = open.map(({ view }) => view);
  const expected = clashSnapshot(facts, views, { up: 5, down: 6, memory: 0 });
  assert.deepEqual(JSON.parse(text), expected);
  assert.deepEqual(Object.keys(JSON.parse(text) as object), Object.keys(expected));
});

test('clients share a snapshot for ten times as long as it took to make', async () => {
  const clock = new ManualClock();
  const snapshots = snapshotsOf(fakeMonitor(), clock);
  const first = snapshots.latest();
  assert.equal(snapshots.latest(), first, 'while it is made');
  await first;
  clock.advance(19);
  assert.equal(snapshots.latest(), first);
  clock.advance(1);
  assert.notEqual(snapshots.latest(), first);
});

test('a failure is told to all who wait, and the next one asks again', async () => {
  const clock = new ManualClock();
  let asked = 0;
  const recent = () => Promise.reject(new Error(`failed ${++asked}`));
  const snapshots = new SharedSnapshots(new LeasedMonitor(fakeMonitor()), { recent }, clock);
  const both = [snapshots.latest(), snapshots.latest()];
  for (const each of both) await assert.rejects(each, /failed 1/);
  clock.advance(0);
  await assert.rejects(snapshots.latest(), /failed 2/);
});
