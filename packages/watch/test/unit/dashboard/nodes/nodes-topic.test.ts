import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MemberStatus } from '@weir/server/control';
import { NodesTopic } from '../../../../src/dashboard/nodes/nodes-topic.ts';
import { NodeProbes } from '../../../../src/dashboard/nodes/node-probes.ts';
import type { NodesView } from '../../../../src/dashboard/nodes/view.ts';
import { FileModel } from '../../../../src/dashboard/reader/file-model.ts';
import type {
  ConfigFacts,
  FileRequestName,
  FileResult,
} from '../../../../src/dashboard/reader/file-requests.ts';
import type { JsonValue } from '../../../../src/dashboard/shared/protocol.ts';
import { trafficOf } from '../../../../../../test/support/dashboard/fake-monitor.ts';
import { readerMonitor } from '../reader/support.ts';

const node = (tag: string, protocol = 'socks', source: string | null = null) => ({
  tag,
  origin: source === null ? ('config' as const) : ('subscribe' as const),
  source,
  goneSince: null,
  protocol,
  carrier: 'tcp',
  server: `${tag}.example:443`,
  acceptsAny: tag === 'osaka',
  probed: { tag, protocol, stream: undefined },
});

const FACTS: ConfigFacts = {
  version: '1',
  readAt: 0,
  nodes: [
    node('direct', 'freedom'),
    node('tokyo'),
    node('osaka', 'vless', 'home'),
    node('block', 'blackhole'),
  ],
  moreNodes: 0,
  balancers: [{ tag: 'pair', strategy: 'failover', members: ['tokyo', 'osaka'], lostFrom: [] }],
  inbounds: [],
  rules: 0,
  hasSubscriptions: true,
};

const member = (outbound: string, health: MemberStatus['health'], error: string | null = null) => ({
  outbound,
  health,
  probed_at: 5,
  error,
});

async function shown() {
  const monitor = readerMonitor();
  monitor.setStatus({
    config: '/weir.toml',
    balancers: [
      {
        tag: 'pair',
        strategy: 'failover',
        members: [member('tokyo', 'available'), member('osaka', 'unavailable', 'no \u{7} route')],
      },
    ],
  });
  const context = { monitor, config: undefined, socket: '/s' };
  const file = new FileModel(
    context,
    { ask: <K extends FileRequestName>() => Promise.resolve(FACTS as FileResult<K>) },
    undefined,
    () => Promise.resolve({ files: [], more: 0 }),
  );
  await file.look();
  const probes = new NodeProbes(
    () => {
      throw new Error('no probes here');
    },
    () => 0,
  );
  const topic = new NodesTopic(context, file, probes);
  const view = (parameters: JsonValue = {}): NodesView => topic.view(parameters);
  const tags = (parameters: JsonValue = {}): readonly string[] =>
    view(parameters).rows.map(({ tag }) => tag);
  return { monitor, topic, view, tags };
}

describe('the topic nodes', () => {
  test('balancers and outbounds in the order of the file, with traffic and health', async () => {
    const { monitor, view, tags } = await shown();
    monitor.traffic = trafficOf({
      outbounds: {
        tokyo: { flows: 2, up: 10, down: 20, upRate: 1, downRate: 2 },
        osaka: { flows: 1, up: 1, down: 1 },
        closed: { up: 5 },
        removed: { flows: 1 },
      },
    });
    assert.deepEqual(tags(), ['pair', 'direct', 'tokyo', 'osaka', 'block', 'removed']);
    const [pair, , tokyo, osaka, , removed] = view().rows;
    assert.deepEqual([pair?.flows, pair?.upTotal, pair?.down], [3, 11, 2]);
    assert.deepEqual(
      pair?.members.map(({ health }) => health.state),
      ['available', 'unavailable'],
    );
    assert.deepEqual([tokyo?.flows, tokyo?.health?.state, tokyo?.source], [2, 'available', null]);
    assert.equal(osaka?.health?.error, String.raw`no \u{7} route`);
    assert.equal(removed?.kind, 'gone');
    assert.equal(view().probable, 3);
  });

  test('flows on more than one version', async () => {
    const { monitor, view } = await shown();
    monitor.addFlow(1, { outbound: 'tokyo', outbound_version: 1 });
    monitor.addFlow(2, { outbound: 'tokyo', outbound_version: 2 });
    monitor.addFlow(3, { outbound: 'tokyo', outbound_version: 2 });
    monitor.addFlow(4, { outbound: 'osaka', outbound_version: 1 });
    monitor.addFlow(5, { outbound: 'osaka', outbound_version: 2 }, 99);
    const rows = new Map(view().rows.map((row) => [row.tag, row]));
    assert.deepEqual(rows.get('tokyo')?.versions, [
      { version: 2, flows: 2 },
      { version: 1, flows: 1 },
    ]);
    assert.deepEqual(rows.get('osaka')?.versions, []);
  });

  for (const [search, expected] of [
    ['HOME', ['osaka']],
    ['vless tcp', ['osaka']],
    ['is:down', ['pair', 'osaka']],
    ['is:insecure', ['osaka']],
    ['is:insecure tokyo', []],
    ['balancer', ['pair']],
    ['nowhere', []],
  ] as const) {
    test(`rows that match ${search}`, async () => {
      const { tags } = await shown();
      assert.deepEqual(tags({ search }), expected);
    });
  }

  test('sorted rows stay where they are while they are held', async () => {
    const { monitor, tags } = await shown();
    const sorted = { sort: 'flows', descending: true };
    monitor.traffic = trafficOf({ outbounds: { osaka: { flows: 3 }, direct: { flows: 1 } } });
    assert.deepEqual(tags(sorted).slice(0, 3), ['pair', 'osaka', 'direct']);
    monitor.traffic = trafficOf({ outbounds: { direct: { flows: 9 } } });
    assert.deepEqual(tags({ ...sorted, held: true }).slice(0, 3), ['pair', 'osaka', 'direct']);
    assert.deepEqual(tags(sorted).slice(0, 1), ['direct']);
    assert.deepEqual(tags({ sort: 'tag' }).slice(0, 3), ['block', 'direct', 'osaka']);
    assert.deepEqual(tags({ sort: 'file', descending: true })[0], 'block');
  });

  test('a window, and parameters that are invalid', async () => {
    const { view } = await shown();
    const { first, rows, matching } = view({ first: 4, count: 2 });
    assert.deepEqual([first, rows.length, matching], [3, 2, 5]);
    assert.throws(() => view({ sort: 'price' }), /"sort"/);
    assert.throws(() => view({ count: 1000 }), /"count"/);
  });
});
