import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunningStatus } from '@weir/server/control';
import { FailingOutbounds, SharedLog, WatchedSums } from '@weir/client/monitor';
import { nowTopic, ratesTopic } from '../../../../src/dashboard/now/source.ts';
import type { NowView } from '../../../../src/dashboard/now/view.ts';
import {
  fakeMonitor,
  flowOf,
  trafficOf,
} from '../../../../../../test/support/dashboard/fake-monitor.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const status = (part: Partial<RunningStatus>) => ({ value: part as RunningStatus, at: 0 });

function start() {
  const monitor = fakeMonitor();
  const [sums, failing] = [new WatchedSums(), new FailingOutbounds()];
  const context = { monitor, now: () => 10_000, socket: undefined };
  const log = new SharedLog(
    () => assert.fail('it is not followed'),
    new ManualClock(),
    () => undefined,
  );
  const topic = nowTopic({ context, sums, failing, log });
  const view = (by?: string) => topic.view(by === undefined ? null : { by }) as NowView;
  return { monitor, sums, failing, view };
}

test('without a status and a log, Now says so and has the rest', () => {
  const { view } = start();
  const { failing, balancers, reload, coverage, largest } = view();
  assert.deepEqual(failing.log, { kind: 'absent' });
  assert.deepEqual([balancers.members, reload.kind, coverage.since], [null, 'unknown', null]);
  assert.deepEqual(
    largest.map(({ id, rows }) => [id, rows.length]),
    [
      ['hosts', 0],
      ['outbounds', 0],
      ['sources', 0],
      ['users', 0],
    ],
  );
});

test('the largest are by rate or by bytes, with what belongs to none of them', () => {
  const { monitor, sums, view } = start();
  for (const tick of [1, 2]) {
    monitor.list(1_000, [], trafficOf({ tick }));
    sums.update(monitor);
  }
  const flows = Array.from({ length: 7 }, (_, id) =>
    flowOf(id, { host: `h${id}`, user: 'ann', down: id * 10 }, { downRate: 70 - id * 10 }),
  );
  const outbounds = { direct: { down: 500, downRate: 9 }, '': { up: 3 } };
  for (const [tick, at] of [2_000, 8_000, 11_000].entries()) {
    monitor.list(at, flows, trafficOf({ tick: 3 + tick, down: 300, outbounds }));
    sums.update(monitor);
  }
  const shown = (by: string) =>
    view(by).largest.map(({ rows, others, unattributed }) => [
      rows.map(({ name, inbound }) => (inbound === null ? name : `${name}@${inbound}`)).join(),
      others,
      unattributed,
    ]);
  assert.deepEqual(shown('bytes'), [
    ['h6,h5,h4,h3,h2', 10, 90],
    ['direct,DNS of Weir', 0, null],
    ['127.0.0.1', 0, 90],
    ['ann@in', 0, 90],
  ]);
  assert.deepEqual(shown('rate')[0], ['h0,h1,h2,h3,h4', 30, 9]);
  assert.throws(() => view('size'), { code: 'bad-request' });
});

test('what fails has its cause, and flows that were opened since', () => {
  const { monitor, failing, view } = start();
  monitor.status = status({
    log_filter: 'warn',
    last_reload: {
      at: 5,
      outcome: { kind: 'failed', line: 'reload: port in use' },
      place: { file: '/etc/weir.toml', line: 3, column: 7 },
    },
    balancers: [
      {
        tag: 'auto',
        strategy: 'failover',
        members: [
          { outbound: 'tokyo', health: 'unavailable', probed_at: 4, error: 'timed out' },
          { outbound: 'osaka', health: 'available', probed_at: 4, error: null },
        ],
      },
    ],
  });
  const fields = { outbound: 'tokyo', host: 'a', port: 443, error: 'refused' };
  const line = { level: 'info', target: 'svc_app', message: '', fields } as const;
  failing.note({ kind: 'line', id: 1, at: 9_000.5, ...line });
  monitor.list(9_500, [
    flowOf(1, { outbound: 'tokyo', started_at: 9_400 }),
    flowOf(2, { outbound: 'tokyo', started_at: 8_000 }),
  ]);
  const { failing: shown, balancers, reload } = view();
  assert.deepEqual(shown.rows, [
    {
      id: 'tokyo',
      cause: 'refused',
      to: 'a:443',
      rule: null,
      count: 1,
      since: 9_001,
      last: 9_001,
      opened: 1,
    },
  ]);
  assert.equal(shown.hiddenBy, 'warn', 'the log has no failures at this level');
  assert.deepEqual(
    [balancers.members, balancers.down.map(({ outbound, error }) => [outbound, error])],
    [2, [['tokyo', 'timed out']]],
  );
  assert.deepEqual(reload, {
    kind: 'failed',
    at: 5,
    text: 'reload: port in use',
    place: '/etc/weir.toml:3:7',
  });
});

test('rates are by their time', () => {
  const monitor = fakeMonitor();
  const topic = ratesTopic({ monitor });
  assert.deepEqual(topic.view(null), { now: null, seconds: {}, halfMinutes: {} });
  monitor.traffic = trafficOf({ upRate: 1, downRate: 2, flows: 3 });
  monitor.history = { seconds: [{ at: 1_000, up: 1, down: 2, flows: 3 }], halfMinutes: [] };
  assert.deepEqual(topic.view(null), {
    now: { up: 1, down: 2, flows: 3 },
    seconds: { 1000: [1, 2, 3] },
    halfMinutes: {},
  });
});
