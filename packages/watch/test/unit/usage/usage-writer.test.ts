import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { USAGE_DIMENSIONS } from '@weir/proxy/tracker';
import { HOUR_MS } from '@weir/base/text/amounts';
import { hourOf } from '../../../src/usage/periods.ts';
import { UsageDatabase } from '../../../src/usage/usage-query.ts';
import { UsageWriter } from '../../../src/usage/usage-writer.ts';
import { databaseFolder, FakeProcess } from './recording.ts';

const ALL = { since: 0, until: 1e6 * HOUR_MS };
const HOUR = hourOf(Date.UTC(2026, 10, 29, 15));

/** Records what a process reports now. */
function record(writer: UsageWriter, process: FakeProcess, hour = HOUR): void {
  const { position } = writer;
  assert.equal(writer.record(process.reportTo(position), position, hour), true);
}

const sumsIn = (path: string, by: (typeof USAGE_DIMENSIONS)[number] = 'user', when = ALL) => {
  using database = new UsageDatabase(path);
  return database.sums({ by, ...when });
};

describe('recorded usage', () => {
  test('is what a process has reported, whatever the hour', () => {
    using folder = databaseFolder();
    using writer = new UsageWriter(folder.path);
    const process = new FakeProcess();
    process.move('ann', 1, 2);
    record(writer, process);
    process.move('ann', 10, 20);
    process.move('bob', 100, 200);
    record(writer, process, HOUR + 1);
    record(writer, process, HOUR + 2);
    assert.deepEqual(sumsIn(folder.path).names, [
      { name: 'bob', up: 100, down: 200, flows: 1 },
      { name: 'ann', up: 11, down: 22, flows: 2 },
    ]);
    const since = { since: (HOUR + 1) * HOUR_MS, until: (HOUR + 2) * HOUR_MS };
    assert.deepEqual(sumsIn(folder.path, 'user', since).names, [
      { name: 'bob', up: 100, down: 200, flows: 1 },
      { name: 'ann', up: 10, down: 20, flows: 1 },
    ]);
  });

  test('has a series of each period', () => {
    using folder = databaseFolder();
    using writer = new UsageWriter(folder.path);
    const process = new FakeProcess();
    for (const [user, hour] of [
      ['ann', 0],
      ['bob', 0],
      ['ann', 1],
      ['ann', 24],
    ] as const) {
      process.move(user, 1, 0);
      record(writer, process, HOUR + hour);
    }
    using database = new UsageDatabase(folder.path);
    const question = { by: 'user', since: HOUR * HOUR_MS, until: (HOUR + 48) * HOUR_MS } as const;
    const flowsOf = (...rest: [unit: 'hours' | 'days', name?: string]) =>
      database.series(question, ...rest).map(({ at, flows }) => [at / HOUR_MS - HOUR, flows]);
    assert.deepEqual(flowsOf('hours'), [
      [0, 2],
      [1, 1],
      [24, 1],
    ]);
    assert.deepEqual(flowsOf('days', 'ann'), [
      [-15, 2],
      [9, 1],
    ]);
    assert.deepEqual(flowsOf('days', 'nobody'), []);
  });

  test('continues after a restart of either side, and a report counts once', () => {
    using folder = databaseFolder();
    const first = new FakeProcess();
    first.move('ann', 1, 0);
    {
      using writer = new UsageWriter(folder.path);
      record(writer, first);
      const { position } = writer;
      first.move('ann', 2, 0);
      const report = first.reportTo(position);
      assert.equal(writer.record(report, position, HOUR), true);
      assert.equal(writer.record(report, position, HOUR), false, 'it was recorded before');
    }
    using writer = new UsageWriter(folder.path);
    first.move('ann', 4, 0);
    record(writer, first);
    const second = new FakeProcess();
    second.move('ann', 8, 0);
    record(writer, second);
    assert.deepEqual(sumsIn(folder.path).names, [{ name: 'ann', up: 15, down: 0, flows: 4 }]);
  });

  test('has sums of hours that are not kept any more in those of days and months', () => {
    using folder = databaseFolder();
    using writer = new UsageWriter(folder.path, { hours: 2, days: 10 });
    const process = new FakeProcess();
    const start = HOUR - 15;
    for (let day = 0; day < 33; day++) {
      for (let hour = 0; hour < 12; hour++) {
        process.move('ann', 1, 0);
        record(writer, process, start + 24 * day + hour);
      }
    }
    const sums = (from: number) => {
      const question = { since: (start + from) * HOUR_MS, until: ALL.until };
      const { since, total } = sumsIn(folder.path, 'user', question);
      return [since / HOUR_MS - start, total.up];
    };
    assert.deepEqual(sums(24 * 32 + 3), [24 * 32 + 3, 9]);
    assert.deepEqual(sums(24 * 25 + 3), [24 * 25, 12 * 8], 'from the begin of the day');
    assert.deepEqual(sums(24), [24 * -28, 12 * 33], 'from the begin of the month');
  });

  test('is not deleted by a clock that is set to another year, and back', () => {
    using folder = databaseFolder();
    using writer = new UsageWriter(folder.path, { hours: 2, days: 10 });
    const process = new FakeProcess();
    const years = 24 * 365 * 12;
    for (const hour of [0, 1, 24, years, years + 24, 25, -years, 26]) {
      process.move('ann', 1, 0);
      record(writer, process, HOUR + hour);
    }
    const since = { since: HOUR * HOUR_MS, until: (HOUR + 48) * HOUR_MS };
    assert.equal(sumsIn(folder.path, 'user', since).total.up, 5);
    assert.equal(sumsIn(folder.path, 'user', since).since, HOUR * HOUR_MS);
  });

  test('keeps the names with the most bytes, and the rest as a sum', () => {
    using folder = databaseFolder();
    using writer = new UsageWriter(folder.path);
    const process = new FakeProcess();
    for (let index = 0; index < 400; index++) process.move(`u${index}`, index, 0);
    record(writer, process);
    assert.equal(sumsIn(folder.path, 'host').names.length, 400, 'while the hour is counted');
    record(writer, process, HOUR + 1);
    const { names, other, total } = sumsIn(folder.path, 'host');
    assert.equal(names.length, 300);
    assert.equal(names.at(-1)?.name, 'u100.example');
    assert.deepEqual(other, { up: (99 * 100) / 2, down: 0, flows: 100 });
    assert.equal(total.flows, 400);
    assert.equal(sumsIn(folder.path, 'user').names.length, 400);
  });

  test('is readable for its owner alone, and is not written into other files', () => {
    using folder = databaseFolder();
    new UsageWriter(folder.path)[Symbol.dispose]();
    assert.equal(statSync(folder.path).mode & 0o777, 0o600);
    const path = `${folder.path}.toml`;
    writeFileSync(path, 'tag = "a"\n'.repeat(1000));
    assert.throws(() => new UsageWriter(path), /file is not a database/);
    const other = `${folder.path}.other`;
    const database = new DatabaseSync(other);
    database.exec('CREATE TABLE t (x)');
    database.close();
    assert.throws(() => new UsageWriter(other), /is not a database of weir usage/);
    assert.throws(() => new UsageDatabase(other), /is not a database of weir usage/);
    assert.throws(() => new UsageDatabase(`${folder.path}.missing`), /unable to open/);
  });

  test('of a newer version is left alone', () => {
    using folder = databaseFolder();
    new UsageWriter(folder.path)[Symbol.dispose]();
    const database = new DatabaseSync(folder.path);
    database.exec('PRAGMA user_version = 2');
    database.close();
    assert.throws(() => new UsageWriter(folder.path), /was made by a newer Weir/);
  });

  test('stays as it was when the disk is full', () => {
    using folder = databaseFolder();
    using writer = new UsageWriter(folder.path);
    const process = new FakeProcess();
    process.move('ann', 1, 0);
    record(writer, process);
    writer.limitPages(1);
    for (let index = 0; index < 2000; index++) process.move(`u${index}`, 1, 0);
    assert.throws(() => record(writer, process), /database or disk is full/);
    assert.equal(sumsIn(folder.path).total.up, 1);
    writer.limitPages(1 << 20);
    record(writer, process);
    assert.equal(sumsIn(folder.path).total.up, 2001);
  });
});

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('move' as const), user: fc.nat(7) }) },
  { weight: 4, arbitrary: fc.constant({ kind: 'record' } as const) },
  // A report that was asked for and not recorded: the recorder was killed.
  { weight: 1, arbitrary: fc.constant({ kind: 'lose report' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart recorder' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart process' } as const) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('clock' as const),
      by: fc.integer({ min: -30, max: 800 }),
    }),
  },
);

test('whatever restarts, and whenever, what was read is recorded once', () => {
  using folder = databaseFolder();
  let run = 0;
  fc.assert(
    fc.property(
      fc.record({
        entries: fc.integer({ min: 1, max: 9 }),
        removed: fc.integer({ min: 1, max: 4 }),
      }),
      fc.array(step, { maxLength: 60, size: 'max' }),
      (bounds, steps) => {
        const path = `${folder.path}.${run++}`;
        let writer = new UsageWriter(path);
        let process = new FakeProcess(bounds);
        let hour = HOUR;
        let bytes = 1;
        /** By account; what was moved since the last record is lost with the process. */
        const recorded = new Map<string, number>();
        let moved = new Map<string, number>();
        let [total, unread] = [0, 0];
        const recordNow = (): void => {
          record(writer, process, hour);
          for (const [user, up] of moved) recorded.set(user, (recorded.get(user) ?? 0) + up);
          moved = new Map();
          total += unread;
          unread = 0;
        };
        for (const each of steps) {
          switch (each.kind) {
            case 'move': {
              const user = `u${each.user}`;
              bytes = (bytes * 7) % 1009;
              process.move(user, bytes, 0);
              moved.set(user, (moved.get(user) ?? 0) + bytes);
              unread += bytes;
              break;
            }
            case 'record':
              recordNow();
              break;
            case 'lose report':
              process.reportTo(writer.position);
              break;
            case 'restart recorder':
              writer[Symbol.dispose]();
              writer = new UsageWriter(path);
              break;
            case 'restart process':
              process = new FakeProcess(bounds);
              moved = new Map();
              unread = 0;
              break;
            case 'clock':
              hour += each.by;
              break;
            default:
              each satisfies never;
          }
        }
        recordNow();
        using database = new UsageDatabase(path);
        for (const by of USAGE_DIMENSIONS) {
          assert.equal(database.sums({ by, ...ALL }).total.up, total, by);
        }
        const { names, other } = database.sums({ by: 'user', ...ALL });
        for (const { name, up } of names) assert.ok(up <= (recorded.get(name) ?? 0), name);
        if (bounds.entries >= 8) assert.equal(other.up, 0);
        writer[Symbol.dispose]();
      },
    ),
    { numRuns: 60 },
  );
});
