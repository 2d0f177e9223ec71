import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  differingVersions,
  createFrameTopic,
} from '../../../../src/dashboard/frame/frame-topic.ts';
import { VERSION } from '@weir/base';
import { ApiClientError } from '@weir/client/api';
import type { FrameView } from '../../../../src/dashboard/frame/view.ts';
import type { LostCause, Reachability } from '@weir/client/monitor';
import { contextOf, statusOf } from '../../../../../../test/support/dashboard/context.ts';
import {
  fakeMonitor,
  flowOf,
  trafficOf,
} from '../../../../../../test/support/dashboard/fake-monitor.ts';

test('a running Weir of the same version and another commit differs, and so does one that says none', () => {
  const own = { commit: 'aaaaaaaaaaaa', date: '2026-11-28' };
  const other = { commit: 'bbbbbbbbbbbb', date: '2026-11-01' };
  const state = (
    status: Parameters<typeof differingVersions>[1],
    build: typeof own | undefined = own,
  ) => differingVersions(VERSION, status, build);
  assert.equal(state({ build: { ...own, date: null } }), undefined);
  assert.deepEqual(state({ build: other }), {
    kind: 'versions-differ',
    running: `${VERSION} (bbbbbbbbbbbb of 2026-11-01)`,
    own: `${VERSION} (aaaaaaaaaaaa of 2026-11-28)`,
  });
  assert.deepEqual(state({}), {
    kind: 'versions-differ',
    running: `${VERSION} (an earlier build)`,
    own: `${VERSION} (aaaaaaaaaaaa of 2026-11-28)`,
  });
  // What is not known differs from nothing.
  assert.equal(state({ build: null }), undefined);
  assert.equal(state(undefined), undefined);
  assert.equal(differingVersions(VERSION, { build: other }, undefined), undefined);
});

const lost = (cause: LostCause): Reachability => ({
  kind: 'lost',
  cause,
  error: new ApiClientError('no answer', { hint: 'look there' }),
  since: 5,
});

function frameOf(part: Parameters<typeof fakeMonitor>[0], readOnly = false) {
  const monitor = fakeMonitor({ status: { value: statusOf(), at: 0 }, ...part });
  const clock = { now: 1000 };
  const topic = createFrameTopic(
    contextOf({ monitor, readOnly, config: '/etc/weir/home.toml', now: () => clock.now }),
  );
  const view = () => topic.view(null) as unknown as FrameView;
  return { monitor, clock, view };
}

const FLOWS = new Map([[1, flowOf(1)]]);

test('a Weir that serves has no states', () => {
  const traffic = trafficOf({ at: 900, upRate: 1.4, downRate: 2.6, flows: 1 });
  const { view } = frameOf({ flows: FLOWS, listedAt: 800, traffic });
  assert.deepEqual(view(), {
    name: 'weir.toml',
    version: VERSION,
    ownVersion: VERSION,
    health: 'Serving',
    why: '',
    states: [],
    upRate: 1,
    downRate: 3,
    flows: 1,
    at: 900,
    now: 1000,
    readOnly: false,
    missed: 0,
  });
});

test('each cause of a lost API is a state of its own', () => {
  for (const [cause, kind] of [
    ['refused', 'nothing-there'],
    ['other-server', 'other-server'],
    ['unauthorized', 'unauthorized'],
    ['forbidden', 'forbidden'],
    ['ended', 'restarting'],
    ['other', 'lost'],
  ] as const) {
    const { health, states } = frameOf({ api: lost(cause) }).view();
    assert.deepEqual([health, states[0]?.kind], ['API lost', kind]);
  }
  const { health, states } = frameOf({ api: { kind: 'absent' }, status: undefined }).view();
  assert.equal(health, 'No API');
  assert.deepEqual(states[0], {
    kind: 'no-api',
    config: '/etc/weir/home.toml',
    listen: '/run/weir/api.sock',
    isOld: false,
  });
  const removed = frameOf({ api: { kind: 'absent' }, listedAt: 900 }).view();
  assert.ok(removed.states[0]?.kind === 'no-api' && removed.states[0].isOld, 'of before');
  assert.equal(frameOf({ api: { kind: 'connecting' } }).view().health, 'Connecting');
});

test('the control socket has states that do not take the health', () => {
  for (const [socket, kind] of [
    [lost('forbidden'), 'forbidden'],
    [lost('refused'), 'no-socket'],
    [{ kind: 'absent' }, 'no-socket'],
  ] as const) {
    const { health, states } = frameOf({ flows: FLOWS, socket }).view();
    assert.deepEqual([health, states.map((state) => state.kind)], ['Serving', [kind]]);
  }
});

test('a refused reload is named with its place', () => {
  const status = statusOf({
    last_reload: {
      at: 1,
      outcome: { kind: 'failed', line: 'reload: no' },
      place: { file: 'weir.toml', line: 3, column: 7 },
    },
  });
  const { health, states } = frameOf({ flows: FLOWS, status: { value: status, at: 0 } }).view();
  assert.equal(health, 'Reload refused');
  assert.deepEqual(states, [
    {
      kind: 'reload-refused',
      line: 'reload: no',
      place: 'weir.toml:3:7',
      command: 'weir reload',
    },
  ]);
});

test('missed events are shown until the list is complete again, and for ten seconds', () => {
  const { monitor, clock, view } = frameOf({ flows: FLOWS, listedAt: 1 });
  assert.equal(view().health, 'Serving');
  monitor.missed = 12;
  const behind = view();
  assert.deepEqual([behind.health, behind.states], ['Behind', [{ kind: 'behind', missed: 12 }]]);
  clock.now += 60_000;
  assert.equal(view().health, 'Behind', 'no list since');
  monitor.listedAt = clock.now;
  assert.equal(view().health, 'Serving');
});

test('versions that differ, no flows and read-only are notes', () => {
  const status = statusOf({
    version: '9.0.0',
    inbounds: [{ tag: 'in', protocol: 'socks', address: '0.0.0.0:1080', sessions: 0, flows: 0 }],
  });
  const { view } = frameOf({ listedAt: 1, status: { value: status, at: 0 } }, true);
  assert.deepEqual(view().states, [
    { kind: 'versions-differ', running: '9.0.0', own: VERSION },
    {
      kind: 'no-flows',
      example: 'curl --proxy socks5h://127.0.0.1:1080 https://example.com/',
    },
    { kind: 'read-only' },
  ]);
  assert.equal(view().health, 'Serving');
});

test('without the control socket the API gives the version', () => {
  const { view } = frameOf({ socket: { kind: 'absent' }, status: undefined, version: '2.0.0' });
  assert.equal(view().version, '2.0.0');
});
