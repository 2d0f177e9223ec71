import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredLog } from '../../../../../watch/src/dashboard/log/log-page.ts';
import { LogStore } from '../../../../src/monitor/log.ts';
import type { LogFields, LogLevel } from '@weir/base/log';

const line = (message: string, level: LogLevel = 'info', fields: LogFields = {}) => ({
  kind: 'line' as const,
  at: 0,
  level,
  target: 'svc_app',
  message,
  fields,
});

const ids = (entries: Iterable<{ readonly id: number }>): number[] =>
  Array.from(entries, ({ id }) => id);

test('the last entries are kept, with the places of lost lines', () => {
  const store = new LogStore({ entries: 3, characters: 1_000 });
  for (let at = 0; at < 100; at++) store.push(line(`${at}`));
  store.pushLost(5, 12);
  store.push(line('last'));
  assert.deepEqual(
    [...store.from(0)].map((entry) => (entry.kind === 'line' ? entry.message : entry.lost)),
    ['99', 12, 'last'],
  );
  assert.deepEqual([store.lost, store.first, store.end], [12, 100, 103]);
  assert.deepEqual(ids(store.from(102)), [102]);
});

test('long lines take the place of many', () => {
  const store = new LogStore({ entries: 100, characters: 50 });
  for (let at = 0; at < 10; at++) store.push(line('x'.repeat(20)));
  assert.deepEqual(ids(store.from(0)), [9, 10]);
  store.push(line('x'.repeat(1_000)));
  assert.deepEqual(ids(store.from(0)), [11], 'the last one stays, however long it is');
});

test('a selection is by level, target and text, and follows the store', () => {
  const store = new LogStore({ entries: 6, characters: 1_000 });
  const of = (part: Partial<ConstructorParameters<typeof FilteredLog>[1]>) =>
    new FilteredLog(store, { level: 'trace', target: '', text: '', ...part });
  const [all, warn, app, named] = [
    of({}),
    of({ level: 'warn' }),
    of({ target: 'svc_app::' }),
    of({ text: 'TOKYO' }),
  ];
  store.push(line('one', 'error'));
  store.push({ ...line('two', 'debug'), target: 'svc_app::instance' });
  store.pushLost(0, 3);
  store.push(line('three', 'warn', { outbound: 'tokyo' }));
  store.push(line('by Tokyo', 'trace'));
  const current = () => [all, warn, app, named].map((log) => ids(log.current()));
  assert.deepEqual(current(), [
    [1, 2, 3, 4, 5],
    [1, 3, 4],
    [2, 3],
    [3, 4, 5],
  ]);
  for (let at = 0; at < 3; at++) store.push(line('four'));
  assert.deepEqual(current(), [[3, 4, 5, 6, 7, 8], [3, 4], [3], [3, 4, 5]]);
  assert.equal(all.current(), all.current(), 'nothing is done without a new entry');
});
