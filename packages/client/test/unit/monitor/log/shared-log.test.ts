import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { LogEvent } from '@weir/server/control';
import { type LogEntry, SharedLog } from '../../../../src/monitor/log.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const line = (at: number): LogEvent => ({
  kind: 'line',
  at,
  level: 'info',
  target: 'svc_app',
  message: `at ${at}`,
  fields: {},
});

/** A log whose follower gets each of `answers` in turn; `end` ends it, otherwise it stays open. */
function start(answers: readonly { readonly events: LogEvent[]; readonly end?: string }[]) {
  const clock = new ManualClock();
  let requests = 0;
  async function* follow(signal: AbortSignal): AsyncGenerator<LogEvent> {
    const answer = answers[requests++];
    if (!answer) throw new Error('no such socket');
    yield* answer.events;
    if (answer.end === '') return;
    if (answer.end !== undefined) throw new Error(answer.end);
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  }
  const entries: LogEntry[] = [];
  const log = new SharedLog(follow, clock, (entry) => entries.push(entry));
  const shown = () =>
    entries.map((entry) => (entry.kind === 'line' ? entry.at : (entry.lost ?? 'unknown')));
  return { clock, log, shown, requests: () => requests };
}

test('pages share one request, which ends with the last of them', async () => {
  const { clock, log, shown, requests } = start([
    { events: [line(1), { kind: 'live' }, line(2), { kind: 'lost', count: 3 }, line(4)] },
    { events: [line(2), line(4), line(5), { kind: 'live' }] },
    { events: [line(9), { kind: 'live' }] },
  ]);
  let changes = 0;
  using _listener = log.onChange(() => changes++);
  assert.equal(requests(), 0);
  const [first, second] = [log.hold(), log.hold()];
  assert.equal(log.state.kind, 'connecting');
  await turn();
  clock.advance(1_000);
  assert.equal(changes, 1, 'changes are gathered');
  assert.deepEqual(log.state, { kind: 'following', since: Date.UTC(2026, 0, 1) });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.equal(log.state.kind, 'following');
  second[Symbol.dispose]();
  assert.equal(log.state.kind, 'idle');
  assert.deepEqual([shown(), requests()], [[1, 2, 3, 4], 1]);
  const third = log.hold();
  await turn();
  assert.deepEqual(shown(), [1, 2, 3, 4, 5], 'lines that are known join what follows to them');
  third[Symbol.dispose]();
  using _fourth = log.hold();
  await turn();
  assert.deepEqual(shown(), [1, 2, 3, 4, 5, 'unknown', 9], 'lines may be missing between');
});

test('the log of a process that has ended is requested again', async () => {
  const { clock, log, shown, requests } = start([
    { events: [line(1), { kind: 'live' }], end: '' },
    { events: [], end: 'connection refused' },
    { events: [{ kind: 'live' }, line(2)] },
  ]);
  using _hold = log.hold();
  await turn();
  const since = Date.UTC(2026, 0, 1);
  assert.deepEqual(log.state, {
    kind: 'lost',
    error: 'the process that writes it has ended',
    since,
  });
  clock.advance(2_000);
  await turn();
  assert.deepEqual(log.state, { kind: 'lost', error: 'connection refused', since });
  clock.advance(2_000);
  await turn();
  assert.equal(log.state.kind, 'following');
  assert.deepEqual([shown(), requests()], [[1, 'unknown', 2], 3]);
});

test('nothing is left after the last page has gone', async () => {
  const { clock, log, requests } = start([]);
  log.hold()[Symbol.dispose]();
  await turn();
  clock.advance(60_000);
  await turn();
  assert.deepEqual([log.state.kind, requests(), clock.timers], ['idle', 1, 0]);
});
