import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WeirError } from '@weir/base';
import { draw, sparkline } from '../../../src/top/draw.ts';
import { lineText } from '../../../src/top/line.ts';
import { Screen } from '../../../src/top/screen.ts';
import type { Snapshot, Overlay, TopState } from '../../../src/top/top-state.ts';
import { columnsOf } from '@weir/base/tables';
import {
  fakeMonitor,
  flowOf,
  trafficOf,
} from '../../../../../test/support/dashboard/fake-monitor.ts';
import { fullStatus } from '../../../../../test/support/metrics/full-status.ts';
import {
  NOW,
  promptOf,
  routesOf,
  snapshotOf,
  stateOf,
} from '../../../../../test/support/top/snapshot.ts';
import { FakeTerminal } from '../../../../../test/support/top/terminal.ts';

const SIZES = [
  { columns: 80, rows: 24 },
  { columns: 40, rows: 10 },
  { columns: 200, rows: 60 },
  { columns: 3, rows: 2 },
  { columns: 1, rows: 1 },
] as const;

const textsOf = (state: TopState, snapshot: Snapshot): readonly string[] =>
  draw(state, snapshot).map((line) => lineText(line, snapshot.size.columns, 'none').trimEnd());
const textOf = (state: TopState, snapshot: Snapshot): string => textsOf(state, snapshot).join('\n');

/** Terminal escapes, line ends, marks that reverse the direction, and wide characters. */
const HOSTILE = '\x1b[2J\x1b]0;x\x07\r\n\u202eevil\u2066\x9b1m漢字🚀\ud800';

/** Every text that comes from elsewhere is hostile. */
function hostileSnapshot(size: Snapshot['size']): Snapshot {
  const flows = Array.from({ length: 50 }, (_, id) =>
    flowOf(id, {
      host: HOSTILE,
      sniffed: `${HOSTILE}x`,
      user: HOSTILE,
      source: HOSTILE,
      outbound: HOSTILE,
      inbound: HOSTILE,
    }),
  );
  const lost = { kind: 'lost', cause: 'other', since: 0 } as const;
  return snapshotOf({
    size,
    flows,
    name: HOSTILE,
    health: { word: 'API lost', why: 'nothing shown is current' },
    monitor: fakeMonitor({
      flows: new Map(flows.map((flow) => [flow.view.id, flow])),
      version: HOSTILE,
      routes: { value: { view: routesOf(HOSTILE), etag: '"1"' }, at: 0 },
      routesError: new WeirError('x', HOSTILE),
      api: { ...lost, error: new WeirError('x', HOSTILE, { hint: HOSTILE }) },
      socket: { ...lost, error: new WeirError('x', HOSTILE) },
      status: {
        at: 0,
        value: {
          ...fullStatus,
          balancers: [
            {
              tag: HOSTILE,
              strategy: 'failover',
              members: Array.from({ length: 9 }, () => ({
                outbound: HOSTILE,
                health: 'unavailable' as const,
                probed_at: 0,
                error: HOSTILE,
              })),
            },
          ],
          last_reload: { at: 0, outcome: { kind: 'failed', line: HOSTILE }, place: null },
        },
      },
    }),
    failing: Array.from({ length: 9 }, () => ({
      outbound: HOSTILE,
      cause: HOSTILE,
      to: HOSTILE,
      rule: 1,
      count: 3,
      since: 0,
      last: 0,
    })),
  });
}

const hostilePrompt = promptOf({
  title: HOSTILE,
  effects: [HOSTILE, HOSTILE],
  answers: [{ key: 'y', text: HOSTILE, command: HOSTILE, run: async () => HOSTILE }],
});

const OVERLAYS: readonly (Overlay | undefined)[] = [
  undefined,
  { kind: 'help' },
  { kind: 'details', flow: 1 },
  { kind: 'details', flow: 1_000 },
  { kind: 'filter', text: `${HOSTILE}${'long '.repeat(60)}`, problem: HOSTILE },
  { kind: 'targets', route: HOSTILE, cursor: 3, find: '', isTyping: false },
  { kind: 'question', question: hostilePrompt },
  { kind: 'busy', text: HOSTILE },
  { kind: 'message', title: HOSTILE, lines: Array.from({ length: 99 }, () => HOSTILE) },
];

for (const size of SIZES) {
  test(`everything fits ${size.columns} columns and ${size.rows} rows, whatever the names`, async () => {
    const empty = snapshotOf({ size, flows: [], monitor: fakeMonitor() });
    for (const overlay of OVERLAYS) {
      for (const page of ['flows', 'routes'] as const) {
        for (const snapshot of [hostileSnapshot(size), snapshotOf({ size }), empty]) {
          const lines = draw(stateOf({ overlay, page, flow: 1, route: HOSTILE }), snapshot);
          assert.equal(lines.length, size.rows);
          for (const line of lines) {
            const text = lineText(line, size.columns, 'none');
            assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
            assert.ok(columnsOf(text) <= size.columns, text);
          }
        }
      }
    }
  });
}

test('hostile names do not leave their line on a terminal', async () => {
  const size = { columns: 120, rows: 30 };
  const terminal = new FakeTerminal(size.columns, size.rows);
  const screen = new Screen(terminal, 'all');
  screen.enter();
  const lines = draw(stateOf(), hostileSnapshot(size));
  screen.show(lines);
  const expected = lines.map((line) => lineText(line, size.columns, 'none').trimEnd());
  assert.deepEqual(await terminal.lines(), expected);
});

test('the head has the name, the health, the rates, the flows and what was missed', () => {
  const traffic = trafficOf({ at: NOW, upRate: 1_500, downRate: 2e6, flows: 3 });
  const monitor = fakeMonitor({ traffic, listedAt: NOW, version: '2.1.1', missed: 12 });
  const [first, second] = textsOf(stateOf(), snapshotOf({ monitor, readOnly: true }));
  assert.equal(first, 'weir.toml 2.1.1  Serving  read-only');
  assert.equal(second, 'up   1.5 kB/s  down   2.0 MB/s  3 flows    12 events missed');
});

test('the age of the data is shown once it is some seconds', () => {
  const monitor = fakeMonitor({ listedAt: NOW - 65_000 });
  const health = { word: 'API lost', why: 'nothing shown is current' } as const;
  const [first] = textsOf(stateOf(), snapshotOf({ monitor, health }));
  assert.equal(first, 'weir.toml  API lost: nothing shown is current  data of 1m 5s ago');
});

test('wide terminals show more columns, in a fixed order', () => {
  const headAt = (columns: number): string =>
    textsOf(stateOf(), snapshotOf({ size: { columns, rows: 24 } }))[2]?.replace(/\s+/g, ' ') ?? '';
  assert.equal(headAt(40), ' AGE DESTINATION RATE*');
  assert.equal(headAt(80), ' AGE DESTINATION OUTBOUND RATE* UP DOWN');
  assert.equal(headAt(140), ' ID AGE NET USER SOURCE DESTINATION OUTBOUND RULE RATE* UP DOWN');
});

test('a row has the flow, the sniffed name first, and the cursor', () => {
  const flows = [
    flowOf(7, {
      host: '2001:db8::1',
      sniffed: 'video.example',
      outbound: '',
      user: 'ann',
      started_at: NOW - 65_000,
      up: 1_500,
      down: 2e6,
      rule: 4,
    }),
    flowOf(8, { host: 'closed.example' }, { closedAt: NOW - 1 }),
  ];
  const size = { columns: 160, rows: 24 };
  const rows = textsOf(stateOf({ flow: 7 }), snapshotOf({ flows, size })).slice(3, 5);
  assert.match(
    rows[0] ?? '',
    /^> +7 +1m 5s tcp ann +127\.0\.0\.1 +video\.example \[2001:db8::1\]:443 +dns +4 +1\.5 kB +2\.0 MB$/,
  );
  assert.match(rows[1] ?? '', /^ +8 +closed tcp - .* closed\.example:443/);
});

test('the cursor is among the rows that are shown, wherever it is', () => {
  const flows = Array.from({ length: 1_000 }, (_, id) => flowOf(id, { host: `h${id}.example` }));
  for (const flow of [0, 1, 500, 998, 999]) {
    const lines = textsOf(stateOf({ flow }), snapshotOf({ flows }));
    assert.deepEqual(
      lines.filter((line) => line.startsWith('>')).map((line) => /h(\d+)\./.exec(line)?.[1]),
      [String(flow)],
    );
    assert.equal(lines.filter((line) => line.includes('.example')).length, 20);
  }
});

test('no flows, none that matches, and none known have a text of their own', () => {
  const none = snapshotOf({ flows: [] });
  assert.match(textOf(stateOf(), none), /^ {2}No flows\.$/m);
  const filter = { text: 'user:ann', matches: () => false };
  assert.match(textOf(stateOf({ filter }), none), /^ {2}No flow matches\.$/m);
  const unknown = snapshotOf({ flows: [], monitor: fakeMonitor() });
  assert.match(textOf(stateOf(), unknown), /^ {2}The flows are not known yet\.$/m);
  assert.match(textOf(stateOf({ filter }), none), /^0 shown {2}\/user:ann/m);
});

test('routes have their target, pick and inheritance', () => {
  const rows = textsOf(stateOf({ page: 'routes', route: 'News' }), snapshotOf()).slice(2, 6);
  assert.deepEqual(
    rows.map((row) => row.replace(/ +/g, ' ')),
    [
      ' ROUTE GOES TO PICK INHERITS',
      ' Video tokyo tokyo default',
      '>News Video - Video',
      ' default direct - -',
    ],
  );
});

test('files that cannot be described are said above the routes', () => {
  const monitor = fakeMonitor({ routesError: new WeirError('x', 'weir.toml:3: broken') });
  assert.match(
    textOf(stateOf({ page: 'routes' }), snapshotOf({ monitor })),
    /^! weir\.toml:3: broken$/m,
  );
});

test('troubles are listed, with their number where they are too many', () => {
  const snapshot = hostileSnapshot({ columns: 200, rows: 60 });
  const troubles = (each: Snapshot): readonly string[] =>
    textsOf(stateOf(), each).filter((line) => /^! |^ {2}and \d+ more$/.test(line));
  // Two sources, the reload, three of nine members, three of nine outbounds.
  assert.equal(troubles(snapshot).length, 10);
  assert.equal(troubles(snapshot).at(-1), '  and 12 more');
  const small = { ...snapshot, size: { columns: 200, rows: 10 } };
  assert.equal(troubles(small).length, 3);
  assert.equal(troubles(small).at(-1), '  and 19 more');
  assert.match(textOf(stateOf({ flow: 1 }), small), /^>/m);
});

test('each source that is missing or lost has its text and the next step', () => {
  const error = new WeirError('ctl', 'cannot reach the API', { hint: 'is Weir running?' });
  const monitor = fakeMonitor({
    api: { kind: 'lost', cause: 'refused', error, since: 0 },
    socket: { kind: 'absent' },
  });
  const lines = textsOf(stateOf(), snapshotOf({ monitor }));
  assert.deepEqual(lines.slice(2, 4), [
    '! API: cannot reach the API (is Weir running?)',
    '! control socket: not found: no failures, balancers and limits here',
  ]);
  const absent = fakeMonitor({ api: { kind: 'absent' } });
  assert.equal(
    textsOf(stateOf(), snapshotOf({ monitor: absent }))[2],
    '! API: the configuration has no [api]: add it, and reload',
  );
});

test('a question shows every effect, answer and command, also on a narrow terminal', () => {
  const size = { columns: 30, rows: 24 };
  const overlay: Overlay = { kind: 'question', question: promptOf() };
  assert.deepEqual(textsOf(stateOf({ overlay }), snapshotOf({ size })).slice(2, 14), [
    ' Set "Video" to "osaka"?',
    ' New flows go to "osaka".',
    ' 12 flows stay open on',
    ' "tokyo".',
    '',
    ' y  pick',
    '    weir ctl pick Video osaka',
    ' c  pick, and close these 12',
    '    flows',
    '    weir ctl pick Video osaka',
    '    --close',
    ' Esc  change nothing',
  ]);
});

test('an overlay that is too long has the whole terminal, and is scrolled', () => {
  const size = { columns: 40, rows: 5 };
  const lines = Array.from({ length: 10 }, (_, index) => `line ${index}`);
  const overlay: Overlay = { kind: 'message', title: 'Title', lines };
  const snapshot = snapshotOf({ size });
  assert.deepEqual(textsOf(stateOf({ overlay }), snapshot), [
    ' Title',
    ' line 0',
    ' line 1',
    ' line 2',
    '9 more lines: down arrow',
  ]);
  const scrolled = { overlay, lines: 9 };
  assert.deepEqual(textsOf(stateOf({ overlay, scrolled }), snapshot), [
    ' line 8',
    ' line 9',
    '',
    ' Enter or Esc goes back.',
    '',
  ]);
  // Another overlay begins at its top, and a larger terminal shows as much as there is.
  const other: Overlay = { ...overlay, title: 'Other' };
  assert.equal(textsOf(stateOf({ overlay: other, scrolled }), snapshot)[0], ' Other');
  const large = snapshotOf({ size: { columns: 40, rows: 12 } });
  assert.equal(textsOf(stateOf({ overlay, scrolled }), large)[0], ' line 1');
});

test('the details of a flow, open, closed and forgotten', () => {
  const flow = flowOf(7, { rule: null, started_at: NOW - 5_000, user: 'ann', session: 3 });
  const at = (closedAt: number | undefined): string =>
    textOf(
      stateOf({ overlay: { kind: 'details', flow: 7 } }),
      snapshotOf({ monitor: fakeMonitor({ flows: new Map([[7, { ...flow, closedAt }]]) }) }),
    );
  assert.match(at(undefined), /^ client +127\.0\.0\.1, user ann$/m);
  assert.match(at(undefined), /^ rule +default route$/m);
  assert.match(at(undefined), /^ age +5s$/m);
  assert.match(at(NOW - 2_000), /^ age +closed 2s ago after 3s$/m);
  const overlay: Overlay = { kind: 'details', flow: 8 };
  assert.match(textOf(stateOf({ overlay }), snapshotOf()), /^ Flow 8 closed some time ago\.$/m);
});

test('the end of a long filter is shown where it is typed, and its problem above it', () => {
  const size = { columns: 20, rows: 10 };
  const overlay: Overlay = { kind: 'filter', text: `${'a'.repeat(30)}xyz`, problem: undefined };
  const typed = textsOf(stateOf({ overlay }), snapshotOf({ size }));
  assert.equal(typed.at(-1), `/…${'a'.repeat(14)}xyz_`);
  const wrong = textsOf(
    stateOf({ overlay: { ...overlay, problem: 'no such key' } }),
    snapshotOf({ size }),
  );
  assert.deepEqual([wrong.length, wrong.at(-2), wrong.at(-1)], [10, 'no such key', typed.at(-1)]);
});

test('bars are relative to the largest rate', () => {
  const point = (up: number) => ({ at: 0, up, down: up, flows: 0 });
  assert.equal(sparkline([]), '');
  assert.equal(sparkline([point(0), point(0)]), '  ');
  assert.equal(sparkline([point(0), point(1), point(400), point(800)]), ' ▁▄█');
});
