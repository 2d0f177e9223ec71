import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogStore } from '@weir/client/monitor';
import { LogWindows } from '../../../../src/dashboard/log/log-page.ts';

const ALL = { level: 'trace', target: '', text: '' } as const;
const LAST = { first: undefined, until: undefined };

const push = (store: LogStore, message: string) =>
  store.push({ kind: 'line', at: 0, level: 'info', target: 'svc_app', message, fields: {} });

test('a page that follows has the last rows, and one that has stopped keeps its own', () => {
  const store = new LogStore({ entries: 200, characters: 1 << 20 });
  const windows = new LogWindows(store);
  assert.deepEqual(windows.window(ALL, LAST), { first: 0, total: 0, entries: [], later: 0 });
  for (let id = 1; id <= 150; id++) push(store, id % 2 === 0 ? 'even' : 'odd');
  const last = windows.window(ALL, LAST);
  assert.deepEqual([last.first, last.total, last.entries.length], [90, 150, 60]);
  const stopped = windows.window(ALL, { first: 40, until: 150 });
  for (let id = 151; id <= 349; id++) push(store, 'odd');
  const later = windows.window(ALL, { first: 40, until: 150 });
  assert.deepEqual(later.entries, stopped.entries, 'also those that the store has dropped');
  assert.deepEqual([later.first, later.total, later.later], [40, 150, 199]);
  assert.equal(windows.window(ALL, LAST).entries.at(-1)?.id, 349);
  const even = { ...ALL, text: 'even' };
  assert.deepEqual(windows.window(even, { first: 999, until: 150 }).total, 1, 'a new selection');
});

test('the number of kept lists is bounded', () => {
  const store = new LogStore();
  const windows = new LogWindows(store);
  for (let id = 1; id <= 5; id++) push(store, 'x');
  for (let until = 1; until < 100; until++) {
    assert.equal(windows.window(ALL, { first: 0, until }).total, Math.min(until, 5));
  }
});
