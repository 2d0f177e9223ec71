import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  afterEndReceived,
  afterEndSent,
  afterHead,
  afterReset,
  INITIAL_STATE,
  type StreamState,
} from '../../../../src/http/http2/stream-state.ts';

const EVENTS = {
  head: afterHead,
  'end received': afterEndReceived,
  'end sent': afterEndSent,
  reset: afterReset,
} as const;
type Event = keyof typeof EVENTS;

const after = (...events: readonly Event[]): StreamState => {
  let state: StreamState = INITIAL_STATE;
  for (const event of events) state = EVENTS[event](state);
  return state;
};

const CASES: readonly (readonly [
  events: readonly Event[],
  kind: StreamState['kind'],
  received: StreamState['received'],
])[] = [
  [[], 'open', 'nothing'],
  [['head'], 'open', 'head'],
  [['end sent'], 'half-closed (local)', 'nothing'],
  [['end sent', 'head'], 'half-closed (local)', 'head'],
  [['head', 'end sent'], 'half-closed (local)', 'head'],
  [['head', 'end received'], 'half-closed (remote)', 'all'],
  [['head', 'end received', 'end sent'], 'closed', 'all'],
  [['end sent', 'head', 'end received'], 'closed', 'all'],
  [['reset'], 'closed', 'nothing'],
  [['head', 'reset'], 'closed', 'head'],
  [['end sent', 'head', 'reset'], 'closed', 'head'],
  [['head', 'end received', 'reset'], 'closed', 'all'],
];

for (const [events, kind, received] of CASES) {
  const named = events.length === 0 ? 'nothing' : events.join(', then ');
  test(`after ${named} a stream is ${kind}, with ${received} received`, () => {
    assert.deepEqual(after(...events), { kind, received });
  });
}

test('no event changes a stream that is closed', () => {
  for (const events of [['reset'], ['head', 'reset'], ['head', 'end received', 'end sent']]) {
    const closed = after(...(events as Event[]));
    for (const apply of Object.values(EVENTS)) assert.equal(apply(closed), closed);
  }
});

test('a second END_STREAM of either side changes nothing', () => {
  for (const event of ['end sent', 'end received'] as const) {
    const once = after('head', event);
    assert.equal(EVENTS[event](once), once);
  }
});
