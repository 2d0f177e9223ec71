import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WrittenUser } from '@weir/config/edit';
import { WatchedSums } from '@weir/client/monitor';
import { compareUsers, hasText, userRows } from '../../../../src/dashboard/users/users-topic.ts';
import { UsersInFile } from '../../../../src/dashboard/users/users-in-file.ts';
import {
  fakeMonitor,
  flowOf,
  trafficOf,
} from '../../../../../../test/support/dashboard/fake-monitor.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const written = (inbound: string, shown: string, label?: string): WrittenUser => ({
  inbound,
  protocol: 'vless',
  index: 0,
  name: shown,
  label,
  shown,
});

const session = (id: number, inbound: string, user: string | null, source: string) => ({
  id,
  inbound,
  user,
  source,
  up: 0,
  down: 0,
  started_at: 0,
});

test('users of the file, of sessions and of flows are one row each', () => {
  const monitor = fakeMonitor();
  const sums = new WatchedSums();
  monitor.list(1, [], trafficOf({ tick: 1 }));
  sums.update(monitor);
  const flows = [
    flowOf(1, { inbound: 'pw', user: 'ann', source: '10.0.0.1', up: 100 }, { upRate: 7 }),
    flowOf(2, { inbound: 'ids', user: null, source: '10.0.0.9', down: 30 }),
    flowOf(3, { inbound: 'pw', user: 'gone', source: '10.0.0.3', down: 5 }, { closedAt: 1 }),
  ];
  monitor.list(2, flows, trafficOf({ tick: 2, up: 135 }));
  sums.update(monitor);
  const rows = userRows({
    sessions: [session(1, 'pw', 'ann', '10.0.0.1'), session(2, 'pw', 'ann', '10.0.0.2')],
    flows,
    sums: sums.users,
    written: [
      written('pw', 'ann', 'ann'),
      written('pw', 'eve', 'eve'),
      written('ids', 'bob'),
      written('ids', 'cy'),
    ],
  });
  assert.deepEqual(
    rows.map(
      ({ inbound, user, names, sessions, sourceCount, flows: open, rate, bytes, isInFile }) =>
        [inbound, user, names.join(), sessions, sourceCount, open, rate, bytes, isInFile].join(' '),
    ),
    [
      'pw ann ann 2 2 1 7 100 true',
      'pw eve eve 0 0 0 0 0 true',
      'ids  bob,cy 0 1 1 0 30 true',
      'pw gone  0 0 0 0 5 false',
    ],
  );
  const sorted = (column: Parameters<typeof compareUsers>[2], descending: boolean) =>
    [...rows].sort((a, b) => compareUsers(a, b, column, descending)).map(({ user }) => user);
  assert.deepEqual(sorted('bytes', true), ['ann', null, 'gone', 'eve']);
  assert.deepEqual(sorted('user', false), ['ann', null, 'eve', 'gone']);
  assert.deepEqual(
    ['AN', 'no label', 'cy', 'pw'].map((text) =>
      rows.filter((row) => hasText(row, text.toLowerCase())).map(({ user }) => user),
    ),
    [['ann'], [null], [null], ['ann', 'eve', 'gone']],
  );
});

test('the users of the file are read again only while a page watches', async () => {
  const clock = new ManualClock();
  let reads = 0;
  const file = new UsersInFile(
    () => '/etc/weir.toml',
    clock,
    () => (reads++ === 0 ? Promise.reject(new Error('no such file')) : Promise.resolve([])),
  );
  const page = file.hold();
  await file.refresh();
  assert.deepEqual([file.read, reads], [{ kind: 'unreadable', reason: 'no such file' }, 1]);
  clock.advance(10_000);
  await file.refresh();
  assert.deepEqual([file.read.kind, reads], ['read', 2]);
  page[Symbol.dispose]();
  assert.equal(clock.timers, 0);
});
