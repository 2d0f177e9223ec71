import type { RouteView } from '@weir/config/route-view';
import {
  type Snapshot,
  FIRST_STATE,
  type ChangePrompt,
  type TopState,
} from '../../../packages/watch/src/top/top-state.ts';
import { fakeMonitor, flowOf } from '../dashboard/fake-monitor.ts';

/** The time of snapshots. */
export const NOW = 100_000;

/** Two groups, and two targets beside `direct` and `blackhole`; `name` is a group and a target. */
export const routesOf = (name = 'Video'): RouteView => ({
  default: { pick: null, target: 'direct' },
  groups: [
    { name, pick: 'tokyo', inherit: 'default', target: 'tokyo' },
    { name: 'News', pick: null, inherit: { group: name }, target: name },
  ],
  targets: [
    { name: 'tokyo', kind: 'node' },
    { name, kind: 'node' },
    { name: 'direct', kind: 'direct' },
    { name: 'blackhole', kind: 'blackhole' },
  ],
});

/** Three flows, routes, and a terminal of 80 columns and 24 rows. */
export function snapshotOf(part: Partial<Snapshot> = {}): Snapshot {
  const flows = [1, 2, 3].map((id) => flowOf(id, { host: `host${id}.example`, started_at: NOW }));
  return {
    now: NOW,
    health: { word: 'Serving', why: '' },
    monitor: fakeMonitor({
      flows: new Map(flows.map((flow) => [flow.view.id, flow])),
      listedAt: NOW,
      routes: { value: { view: routesOf(), etag: '"1"' }, at: NOW },
    }),
    flows,
    failing: [],
    readOnly: false,
    name: 'weir.toml',
    size: { columns: 80, rows: 24 },
    ...part,
  };
}

export const stateOf = (part: Partial<TopState> = {}): TopState => ({ ...FIRST_STATE, ...part });

/** A question with two answers, which do nothing. */
export const promptOf = (part: Partial<ChangePrompt> = {}): ChangePrompt => ({
  title: 'Set "Video" to "osaka"?',
  effects: ['New flows go to "osaka".', '12 flows stay open on "tokyo".'],
  answers: [
    { key: 'y', text: 'pick', command: 'weir ctl pick Video osaka', run: async () => 'Applied.' },
    {
      key: 'c',
      text: 'pick, and close these 12 flows',
      command: 'weir ctl pick Video osaka --close',
      run: async () => 'Applied. Closed 12 flows.',
    },
  ],
  ...part,
});
