import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RecordedUsage } from '../../../src/links/recorded-usage.ts';
import { hourOf } from '../../../src/usage/periods.ts';
import { UsageWriter } from '../../../src/usage/usage-writer.ts';
import { databaseFolder, FakeProcess } from '../usage/recording.ts';

const OCTOBER = Date.UTC(2026, 9, 15);
const NOVEMBER = Date.UTC(2026, 10, 29);

describe('the quota of a user without limits', () => {
  test('is what this month has in the database', () => {
    using folder = databaseFolder();
    using writer = new UsageWriter(folder.path);
    const process = new FakeProcess();
    for (const [at, up, down] of [
      [OCTOBER, 1000, 2000],
      [NOVEMBER, 1, 2],
    ] as const) {
      process.move('ann', up, down);
      const { position } = writer;
      assert.ok(writer.record(process.reportTo(position), position, hourOf(at)));
    }
    using recorded = new RecordedUsage({
      database: folder.path,
      note: (text) => assert.fail(text),
      now: () => NOVEMBER + 1,
    });
    assert.deepEqual(recorded.read('ann'), { upload: 1, download: 2 });
    assert.deepEqual(recorded.read('bob'), { upload: 0, download: 0 });
  });

  test('is not known without the database, which is noted once, until there is one', () => {
    using folder = databaseFolder();
    const notes: string[] = [];
    using recorded = new RecordedUsage({
      database: folder.path,
      note: (text) => notes.push(text),
      now: () => NOVEMBER,
    });
    for (let at = 0; at < 3; at++) assert.equal(recorded.read('ann'), undefined);
    assert.equal(notes.length, 1);
    using _writer = new UsageWriter(folder.path);
    assert.deepEqual(recorded.read('ann'), { upload: 0, download: 0 });
  });
});
