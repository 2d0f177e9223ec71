import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunningStatus } from '@weir/server/control';
import type { DashboardContext } from '../../../../src/dashboard/contract.ts';
import { NodeProbes } from '../../../../src/dashboard/nodes/node-probes.ts';
import { FileModel } from '../../../../src/dashboard/reader/file-model.ts';
import { routeTargetsTopic } from '../../../../src/dashboard/routes/routes-topic.ts';
import type { RouteTargetsView } from '../../../../src/dashboard/routes/view.ts';
import { contextOf } from '../../../../../../test/support/dashboard/context.ts';
import { readerMonitor } from '../reader/support.ts';

const member = (outbound: string, health: 'available' | 'unavailable') => ({
  outbound,
  health,
  probed_at: 1,
  error: null,
});

const balancer = (tag: string, ...members: ReturnType<typeof member>[]) =>
  ({ tag, strategy: 'failover', members }) satisfies RunningStatus['balancers'][number];

function topicOf(part: Partial<DashboardContext> = {}) {
  const monitor = readerMonitor();
  const kinds = { tokyo: 'node', osaka: 'node', auto: 'balancer', lost: 'balancer' } as const;
  const targets = Object.entries(kinds).map(([name, kind]) => ({ name, kind }));
  const view = { default: { pick: 'auto', target: 'auto' }, groups: [], targets };
  monitor.routes = { value: { view, etag: '"e"' }, at: 1 };
  monitor.setStatus({
    balancers: [
      balancer('auto', member('tokyo', 'unavailable'), member('osaka', 'available')),
      balancer('lost', member('tokyo', 'unavailable')),
    ],
  });
  monitor.addFlow(1, { outbound: 'tokyo' });
  monitor.addFlow(2, { outbound: 'osaka' });
  monitor.addFlow(3, { outbound: 'osaka' });
  const context = contextOf({ monitor, ...part });
  const worker = { ask: () => Promise.reject(new Error('not asked')) };
  const file = new FileModel(context, worker);
  const probes = new NodeProbes(
    () => ({
      open: () => Promise.reject(new Error('no way')),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
    () => 5,
  );
  const topic = routeTargetsTopic(context, file, probes);
  const rows = (find = '') => {
    const found = topic.view({ find }) as unknown as RouteTargetsView;
    return found;
  };
  return { topic, probes, rows };
}

test('a balancer has the flows of its members, and is down when all of them are', () => {
  const { rows } = topicOf();
  assert.deepEqual(
    rows().rows.map(({ name, flows, isDown }) => [name, flows, isDown]),
    [
      ['tokyo', 1, true],
      ['osaka', 2, false],
      ['auto', 3, false],
      ['lost', 1, true],
    ],
  );
});

test('the delay of a balancer is that of the first member that is not down', async () => {
  const { topic, probes, rows } = topicOf();
  const ended = Promise.withResolvers<void>();
  using _listener = topic.onChange?.(() => {
    if (!probes.progress.isRunning) ended.resolve();
  });
  const probed = { tag: 'osaka', protocol: 'socks', stream: undefined };
  probes.start({ specs: [probed], url: new URL('http://a.example/'), tries: 1 });
  await ended.promise;
  const { rows: shown, probing } = rows();
  assert.deepEqual(
    shown.map(({ name, probe, probed: of }) => [name, probe?.state, of]),
    [
      ['tokyo', undefined, null],
      ['osaka', 'done', null],
      ['auto', 'done', 'osaka'],
      ['lost', undefined, null],
    ],
  );
  assert.deepEqual(probing, { total: 1, done: 1, isRunning: false, isPossible: false });
});

test('a window says what was searched for', () => {
  const { rows } = topicOf();
  const { find, total, rows: shown } = rows('OSA');
  assert.deepEqual(
    [find, total, shown.map(({ id, name }) => [id, name])],
    ['OSA', 1, [[1, 'osaka']]],
  );
});
