import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'node:test';
import { KeyReader, type Key, press, type KeyAction } from '../../../src/top/press.ts';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';
import {
  type Snapshot,
  EVERY_FLOW,
  SORTS,
  type Overlay,
  type TopState,
} from '../../../src/top/top-state.ts';
import { fakeMonitor, flowOf } from '../../../../../test/support/dashboard/fake-monitor.ts';
import { promptOf, snapshotOf, stateOf } from '../../../../../test/support/top/snapshot.ts';

/** The keys in pieces, after which nothing comes. */
function keysOf(...pieces: readonly string[]): readonly Key[] {
  const reader = new KeyReader();
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.flush()];
}

for (const [input, keys] of [
  ['jK?/ ', ['j', 'K', '?', '/', ' ']],
  ['é漢🚀', ['é', '漢', '🚀']],
  ['\x1b[A\x1b[B\x1b[C\x1b[D', ['up', 'down', 'right', 'left']],
  ['\x1bOA\x1bOB\x1bOH\x1bOF', ['up', 'down', 'home', 'end']],
  ['\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~', ['home', 'end', 'home', 'end', 'home', 'end']],
  ['\x1b[3~\x1b[5~\x1b[6~\x1b[Z', ['delete', 'pageup', 'pagedown', 'shift-tab']],
  ['\r\n\t\x7f\b', ['enter', 'enter', 'tab', 'backspace', 'backspace']],
  ['\x03\x0c\x15\x1a', ['ctrl-c', 'ctrl-l', 'ctrl-u', 'ctrl-z']],
  ['\x1b', ['escape']],
  ['\x1b\x1b', ['escape', 'escape']],
  ['\x1bx', ['escape', 'x']],
  // Unknown: Ctrl and an arrow, F5, a mouse report, control characters of both sets.
  ['\x1b[1;5A\x1b[15~\x1b[<0;3;4Mq', ['q']],
  ['\x00\x01\x9b\x85q', ['q']],
  ['\ud800q', ['q']],
  // A sequence that another aborts, and one that has no end.
  ['\x1b[1\x1b[Aq', ['up', 'q']],
  ['\x1b[', []],
  ['\x1b[12', []],
] as const) {
  test(`${JSON.stringify(input)} is ${keys.join(', ') || 'no key'}`, () => {
    assert.deepEqual(keysOf(input), keys);
    assert.deepEqual(keysOf(...Array.from(input)), keys);
  });
}

test('an ESC is a key when nothing follows it, and the start of a sequence when it does', () => {
  const reader = new KeyReader();
  assert.deepEqual(reader.push('a\x1b'), ['a']);
  assert.ok(reader.isWithin);
  assert.deepEqual(reader.push('[5'), []);
  assert.deepEqual(reader.push('~b'), ['pageup', 'b']);
  assert.ok(!reader.isWithin);
  reader.push('\x1b');
  assert.deepEqual(reader.flush(), ['escape']);
  assert.ok(!reader.isWithin);
  assert.deepEqual(reader.flush(), []);
});

test('a sequence without an end is given up after some characters', () => {
  const reader = new KeyReader();
  const digits = '1'.repeat(1_000);
  const keys = reader.push(`\x1b[${digits}`);
  assert.ok(!reader.isWithin);
  assert.ok(keys.length > 900 && keys.every((key) => key === '1'));
});

/** Text of what makes up sequences, and anything else. */
const INPUT = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\x1b', '[', 'O', '1', '5', '~', ';', 'A', 'Z', '\r', '\x03', '\x9b'),
    fc.string({ unit: CODE_POINT, minLength: 1, maxLength: 1 }),
  ),
  maxLength: 200,
  size: 'max',
});

test('any input gives printable characters and names of keys, and leaves little behind', () => {
  fc.assert(
    fc.property(fc.array(INPUT, { maxLength: 5 }), (pieces) => {
      const reader = new KeyReader();
      for (const piece of pieces) {
        for (const key of reader.push(piece)) {
          assert.match(key, /^(?:[^\p{Cc}\p{Cs}]|[a-z]+(?:-[a-z]+)?)$/u);
        }
      }
      // A long parameter shows what is left of the pieces: it is bounded.
      reader.push('1'.repeat(40));
      assert.ok(!reader.isWithin);
    }),
  );
});

test('the keys do not depend on how the input is cut into pieces', () => {
  fc.assert(
    fc.property(fc.array(INPUT, { maxLength: 5 }), (pieces) => {
      // Between two halves of a character is no cut: the decoder of the stream sees to that.
      const whole = pieces.map((piece) => piece.toWellFormed());
      assert.deepEqual(keysOf(...whole), keysOf(whole.join('')));
    }),
  );
});

interface Row {
  readonly key: string;
  readonly does: string;
  readonly on?: Partial<TopState>;
  /** What changes in the state; absent: nothing. */
  readonly state?: Partial<TopState>;
  readonly action?: KeyAction['kind'];
}

const ROUTES: Partial<TopState> = { page: 'routes', route: 'Video' };
const FILTERED = { text: 'user:ann', matches: () => false };
const filter = (text: string, problem?: string): Partial<TopState> => ({
  overlay: { kind: 'filter', text, problem },
});
const targets = (cursor: number, find = '', isTyping = find !== ''): Partial<TopState> => ({
  overlay: { kind: 'targets', route: 'Video', cursor, find, isTyping },
});
const question: Overlay = { kind: 'question', question: promptOf() };
const details: Overlay = { kind: 'details', flow: 2 };
const busy: Overlay = { kind: 'busy', text: 'working' };
const message: Overlay = { kind: 'message', title: 'Done.', lines: [] };
const help: Overlay = { kind: 'help' };
const CLOSED: Partial<TopState> = { overlay: undefined };

const ANYWHERE: readonly Row[] = [undefined, help, details, question, busy, message].flatMap(
  (overlay) => [
    { key: 'ctrl-c', does: 'quits', on: { overlay }, action: 'quit' },
    { key: 'ctrl-z', does: 'suspends', on: { overlay }, action: 'suspend' },
    { key: 'ctrl-l', does: 'draws again', on: { overlay }, action: 'redraw' },
  ],
);

const FLOWS: readonly Row[] = [
  { key: 'q', does: 'quits', action: 'quit' },
  { key: '?', does: 'lists the keys', state: { overlay: help } },
  { key: 'tab', does: 'shows the routes', state: { page: 'routes' } },
  { key: 'p', does: 'shows the routes', state: { page: 'routes' } },
  { key: 'r', does: 'asks for a reload', action: 'reload' },
  { key: 'j', does: 'begins at the first flow', state: { flow: 1 } },
  { key: 'down', does: 'moves down', on: { flow: 1 }, state: { flow: 2 } },
  { key: 'j', does: 'stays at the last flow', on: { flow: 3 } },
  { key: 'k', does: 'moves up', on: { flow: 2 }, state: { flow: 1 } },
  { key: 'up', does: 'stays at the first flow', on: { flow: 1 } },
  { key: 'pagedown', does: 'moves by a page', on: { flow: 1 }, state: { flow: 3 } },
  { key: 'pageup', does: 'moves by a page', on: { flow: 3 }, state: { flow: 1 } },
  { key: 'home', does: 'moves to the first flow', on: { flow: 3 }, state: { flow: 1 } },
  { key: 'end', does: 'moves to the last flow', on: { flow: 1 }, state: { flow: 3 } },
  { key: 'end', does: 'moves to the last flow without a cursor', state: { flow: 3 } },
  { key: 'j', does: 'begins anew when the flow is gone', on: { flow: 99 }, state: { flow: 1 } },
  { key: 'enter', does: 'shows details', on: { flow: 2 }, state: { overlay: details } },
  { key: 'enter', does: 'shows the cursor first', state: { flow: 1 } },
  { key: 'x', does: 'asks for the flow to be closed', on: { flow: 2 }, action: 'close' },
  { key: 'x', does: 'shows the cursor first', state: { flow: 1 } },
  {
    key: 'x',
    does: 'says that a flow has closed',
    on: { flow: 3 },
    state: { overlay: { kind: 'message', title: 'Flow 3 has closed already.', lines: [] } },
  },
  { key: '/', does: 'asks for a filter', state: filter('') },
  {
    key: '/',
    does: 'offers the filter in force',
    on: { filter: FILTERED },
    state: filter('user:ann'),
  },
  { key: 's', does: 'sorts by the next column', state: { sort: 'age' } },
  {
    key: 's',
    does: 'begins again after the last column, in the usual direction',
    on: { sort: SORTS.at(-1) ?? 'rate', reversed: true },
    state: { sort: 'rate', reversed: false },
  },
  { key: 'S', does: 'reverses', state: { reversed: true } },
  { key: 'S', does: 'reverses back', on: { reversed: true }, state: { reversed: false } },
  { key: ' ', does: 'freezes', state: { isFrozen: true } },
  { key: ' ', does: 'thaws', on: { isFrozen: true }, state: { isFrozen: false } },
  {
    key: 'escape',
    does: 'removes filter and freeze',
    on: { filter: FILTERED, isFrozen: true },
    state: { filter: EVERY_FLOW, isFrozen: false },
  },
  ...['a', 'left', 'delete', 'ctrl-u', 'y'].map((key) => ({ key, does: 'does nothing' })),
];

const ROUTE_ROWS: readonly Row[] = [
  { key: 'q', does: 'quits', action: 'quit' },
  { key: '?', does: 'lists the keys', state: { overlay: help } },
  { key: 'tab', does: 'goes back to the flows', state: { page: 'flows' } },
  { key: 'p', does: 'stays on the routes' },
  { key: 'escape', does: 'goes back to the flows', state: { page: 'flows', filter: EVERY_FLOW } },
  { key: 'r', does: 'asks for a reload', action: 'reload' },
  { key: 'j', does: 'moves down', state: { route: 'News' } },
  { key: 'k', does: 'moves up', on: { route: 'default' }, state: { route: 'News' } },
  { key: 'end', does: 'moves to the last route', state: { route: 'default' } },
  { key: 'home', does: 'moves to the first', on: { route: 'default' }, state: { route: 'Video' } },
  {
    key: 'j',
    does: 'begins at the first route',
    on: { route: undefined },
    state: { route: 'Video' },
  },
  { key: 'enter', does: 'shows targets, from the one in force', state: targets(0) },
  {
    key: 'enter',
    does: 'shows the cursor first',
    on: { route: undefined },
    state: { route: 'Video' },
  },
  ...['x', '/', 's', 'S', ' '].map((key) => ({ key, does: 'does nothing' })),
];

const FILTER_ROWS: readonly Row[] = [
  { key: 'q', does: 'types', on: filter('a'), state: filter('aq') },
  { key: '漢', does: 'types', on: filter('a'), state: filter('a漢') },
  { key: '?', does: 'types, and the problem goes', on: filter('a', 'no'), state: filter('a?') },
  { key: 'backspace', does: 'removes a character', on: filter('a🚀'), state: filter('a') },
  { key: 'backspace', does: 'leaves nothing as nothing', on: filter('') },
  { key: 'ctrl-u', does: 'removes all', on: filter('abc'), state: filter('') },
  { key: 'up', does: 'types nothing', on: filter('a') },
  { key: 'escape', does: 'leaves the filter as it was', on: filter('a'), state: CLOSED },
  { key: 'a', does: 'stops at a length', on: filter('a'.repeat(500)) },
];

const OVERLAY_ROWS: readonly Row[] = [
  { key: 'j', does: 'moves down in targets', on: targets(0), state: targets(1) },
  { key: 'end', does: 'moves to the last target', on: targets(0), state: targets(3) },
  { key: 'k', does: 'stays at the first target', on: targets(0) },
  { key: 'enter', does: 'asks for the pick', on: targets(2), action: 'pick' },
  { key: 'q', does: 'does nothing in targets', on: targets(2) },
  { key: 'escape', does: 'leaves targets', on: targets(2), state: CLOSED },
  { key: '/', does: 'searches targets', on: targets(2), state: targets(2, '', true) },
  { key: 'j', does: 'types in a search', on: targets(1, 'k'), state: targets(0, 'kj') },
  { key: '/', does: 'types in a search', on: targets(0, 'k'), state: targets(0, 'k/') },
  { key: 'backspace', does: 'takes back', on: targets(0, 'kj'), state: targets(0, 'k', true) },
  { key: 'down', does: 'moves among those found', on: targets(0, 'O'), state: targets(1, 'O') },
  { key: 'end', does: 'stays among those found', on: targets(0, 'tok') },
  {
    key: 'enter',
    does: 'asks for the pick of what is found',
    on: targets(0, 'tok'),
    action: 'pick',
  },
  { key: 'enter', does: 'does nothing where nothing is found', on: targets(0, 'nowhere') },
  { key: 'escape', does: 'leaves targets', on: targets(0, 'tok'), state: CLOSED },
  { key: 'y', does: 'gives the answer', on: { overlay: question }, action: 'answer' },
  { key: 'c', does: 'gives the other answer', on: { overlay: question }, action: 'answer' },
  ...['n', 'q', 'enter', 'Y', ' '].map((key) => ({
    key,
    does: 'answers no question',
    on: { overlay: question },
  })),
  { key: 'escape', does: 'changes nothing', on: { overlay: question }, state: CLOSED },
  {
    key: 'x',
    does: 'closes the flow of details',
    on: { overlay: details, flow: 2 },
    action: 'close',
  },
  ...['escape', 'enter', 'q'].map((key) => ({
    key,
    does: 'leaves details',
    on: { overlay: details },
    state: CLOSED,
  })),
  { key: 'r', does: 'does nothing in details', on: { overlay: details } },
  ...[help, message].flatMap((overlay) => [
    ...['escape', 'enter', 'q', '?'].map((key) => ({
      key,
      does: `leaves ${overlay.kind}`,
      on: { overlay },
      state: CLOSED,
    })),
    { key: 'x', does: `does nothing in ${overlay.kind}`, on: { overlay } },
  ]),
  { key: 'escape', does: 'does not wait any more', on: { overlay: busy }, state: CLOSED },
  ...['q', 'enter', 'y'].map((key) => ({
    key,
    does: 'does nothing meanwhile',
    on: { overlay: busy },
  })),
];

/** Flows 1 and 2 are open, 3 has closed. */
function snapshot(): Snapshot {
  const flows = [flowOf(1), flowOf(2), flowOf(3, {}, { closedAt: 1 })];
  return { ...snapshotOf(), flows };
}

for (const [where, base, rows] of [
  ['anywhere', {}, ANYWHERE],
  ['on flows', {}, FLOWS],
  ['on routes', ROUTES, ROUTE_ROWS],
  ['in a filter', {}, FILTER_ROWS],
  ['over a page', {}, OVERLAY_ROWS],
] as const) {
  for (const { key, does, on = {}, state = {}, action } of rows) {
    const over = on.overlay && where === 'anywhere' ? ` over ${on.overlay.kind}` : '';
    test(`${where}, ${JSON.stringify(key)} ${does}${over}`, () => {
      const before = stateOf({ ...base, ...on });
      const pressed = press(before, key, snapshot());
      const { scrolled: _, ...after } = pressed.state;
      const { scrolled: __, ...expected } = { ...before, ...state };
      // A key that asks about a flow of the details leaves them.
      const isAsked = action === 'close';
      assert.deepEqual(after, isAsked ? { ...expected, overlay: undefined } : expected);
      assert.equal(pressed.action?.kind, action);
    });
  }
}

test('changes name what they are about', () => {
  assert.deepEqual(press(stateOf({ flow: 2 }), 'x', snapshot()).action, {
    kind: 'close',
    flow: flowOf(2),
  });
  assert.deepEqual(press(stateOf(targets(3)), 'enter', snapshot()).action, {
    kind: 'pick',
    route: 'Video',
    target: 'blackhole',
  });
  const { action } = press(stateOf({ overlay: question }), 'c', snapshot());
  assert.equal(action?.kind === 'answer' && action.answer.text, 'pick, and close these 12 flows');
});

test('a filter that is wrong stays with its problem, another is in force', () => {
  const wrong = press(stateOf(filter('up>many')), 'enter', snapshot()).state;
  assert.equal(wrong.filter, EVERY_FLOW);
  assert.ok(wrong.overlay?.kind === 'filter' && wrong.overlay.problem !== undefined);
  const { state } = press(stateOf(filter('host:b.example')), 'enter', snapshot());
  assert.equal(state.overlay, undefined);
  assert.equal(state.filter.text, 'host:b.example');
  assert.ok(state.filter.matches(flowOf(1, { host: 'b.example' }), 0));
  assert.ok(!state.filter.matches(flowOf(1, { host: 'a.example' }), 0));
});

test('a long overlay scrolls to its last line and back, and not beyond', () => {
  const lines = Array.from({ length: 30 }, () => 'line');
  const overlay: Overlay = { kind: 'message', title: 'Title', lines };
  const size = { columns: 80, rows: 24 };
  let state = stateOf({ overlay });
  const after = (key: string): number | undefined => {
    ({ state } = press(state, key, { ...snapshot(), size }));
    return state.scrolled?.lines;
  };
  // 33 lines in 23 rows.
  assert.deepEqual(
    ['k', 'j', 'down', 'pagedown', 'j', 'k', 'home', 'end', 'up', 'pageup'].map(after),
    [0, 1, 2, 10, 10, 9, 0, 10, 9, 0],
  );
  assert.equal(state.overlay, overlay);
});

test('nothing is under the cursor where there is nothing', () => {
  const empty = snapshotOf({ flows: [], monitor: fakeMonitor() });
  for (const page of ['flows', 'routes'] as const) {
    for (const key of ['j', 'k', 'end', 'home', 'enter', 'x']) {
      const { state, action } = press(stateOf({ page }), key, empty);
      assert.deepEqual(
        [state.flow, state.route, state.overlay, action],
        [undefined, undefined, undefined, undefined],
      );
    }
  }
  assert.equal(press(stateOf(targets(0)), 'enter', empty).action, undefined);
});
