import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WeirError } from '@weir/base';
import type { JsonValue } from '../../../../src/dashboard/shared/protocol.ts';
import { createUsageSource } from '../../../../src/dashboard/usage/usage-topic.ts';
import type { RecordedUsageView } from '../../../../src/dashboard/usage/view.ts';
import { hourOf } from '../../../../src/usage/periods.ts';
import { UsageWriter } from '../../../../src/usage/usage-writer.ts';
import { contextOf, FakeApi } from '../../../../../../test/support/dashboard/context.ts';
import { databaseFolder, FakeProcess } from '../../usage/recording.ts';

const NOW = Date.UTC(2026, 10, 29, 15, 20);

/** The topic of a dashboard with a database. */
function topicOf(usage: string | undefined, now = () => NOW) {
  const api = new FakeApi(() => Promise.reject(new WeirError('lost', 'the API is lost')));
  const [topic] = createUsageSource({ ...contextOf({ api }), usage, now }).topics;
  assert.ok(topic);
  return (parameters: JsonValue): RecordedUsageView => topic.view(parameters) as RecordedUsageView;
}

/** A database with the usage of some accounts, at hours before now. */
function recorded(...moves: readonly (readonly [user: string, bytes: number, ago: number])[]) {
  const folder = databaseFolder();
  using writer = new UsageWriter(folder.path);
  const process = new FakeProcess();
  for (const [user, bytes, ago] of moves) {
    process.move(user, bytes, 2 * bytes);
    const { position } = writer;
    writer.record(process.reportTo(position), position, hourOf(NOW) - ago);
  }
  return folder;
}

function read(view: RecordedUsageView) {
  assert.ok(view.kind === 'read', JSON.stringify(view));
  return view;
}

describe('the page Usage', () => {
  test('has the names of a time with a bar for each period', () => {
    using folder = recorded(['ann', 1, 50], ['ann', 10, 23], ['bob', 100, 1], ['', 1000, 0]);
    const view = topicOf(folder.path);
    const day = read(view({ range: 'day' }));
    assert.deepEqual(
      day.rows.map(({ name, up, down }) => [name, up, down]),
      [
        ['', 1000, 2000],
        ['bob', 100, 200],
        ['ann', 10, 20],
      ],
    );
    assert.equal(day.bars.length, 24);
    assert.deepEqual(
      [day.bars[0]?.up, day.bars[22]?.up, day.bars[23]?.up, day.bars[5]?.up],
      [10, 100, 1000, 0],
    );
    assert.equal(day.until - day.since, 24 * 3_600_000);
    const month = read(view({ range: 'month', name: 'ann' }));
    assert.equal(month.total.up, 1111);
    assert.deepEqual(
      month.bars.filter(({ up }) => up > 0).map(({ id, up }) => [new Date(id).getUTCDate(), up]),
      [
        [27, 1],
        [28, 10],
      ],
    );
    assert.equal(read(view({ range: 'year', by: 'host' })).bars.length, 12);
  });

  test('has at most fifty names, and says how many more there are', () => {
    using folder = recorded(
      ...Array.from({ length: 70 }, (_, index) => [`u${index}`, index, 0] as const),
    );
    const { rows, more } = read(topicOf(folder.path)({}));
    assert.deepEqual([rows.length, more, rows[0]?.name], [50, 20, 'u69']);
  });

  test('reads the database again after some seconds', () => {
    using folder = recorded(['ann', 1, 0]);
    let now = NOW;
    const view = topicOf(folder.path, () => now);
    const before = view({});
    assert.equal(view({}), before);
    now += 60_000;
    assert.notEqual(view({}), before);
    assert.deepEqual(view({}), before);
  });

  test('says why there is no usage', () => {
    assert.deepEqual(topicOf(undefined)({}), {
      kind: 'none',
      path: null,
      problem: 'no database is known',
    });
    const missing = topicOf('/nonexistent/usage.db')({});
    assert.ok(missing.kind === 'none' && missing.problem.includes('unable to open'));
  });

  test('refuses parameters that it does not know', () => {
    assert.throws(() => topicOf(undefined)({ by: 'colour' }), WeirError);
    assert.throws(() => topicOf(undefined)({ range: 7 }), WeirError);
  });
});
