import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UsageError } from '@weir/base';
import { USAGE_DIMENSIONS } from '@weir/proxy/tracker';
import { UsageWriter } from '@weir/watch/usage';
import { CapturedIo } from '../../../../../../test/support/process/captured-io.ts';
import { databaseFolder, FakeProcess } from '../../../../../watch/test/unit/usage/recording.ts';
import { BY } from '../../../../src/cli/usage/specs.ts';
import { defaultDatabase } from '../../../../src/cli/usage/default-database.ts';
import { parseUsage, usageCommand } from '../../../../src/cli/usage/usage.ts';

const NOW = Date.parse('2026-11-29T15:20:00Z');

/** Runs the command, and returns its output. */
async function printed(...argv: readonly string[]): Promise<string> {
  const io = new CapturedIo();
  assert.equal(await usageCommand(argv, io), 0, io.err);
  return io.out;
}

/** A database with what two accounts and a flow without one have used. */
function recorded() {
  const folder = databaseFolder();
  using writer = new UsageWriter(folder.path);
  const process = new FakeProcess();
  process.move('ann', 1_000_000, 2_000_000);
  process.move('bob, "b"', 100, 200);
  process.move('', 1, 2);
  const { position } = writer;
  writer.record(process.reportTo(position), position, Math.floor(NOW / 3_600_000));
  return folder;
}

const DAY = ['--since', '2026-11-29', '--until', '2026-11-29'];

describe('weir usage', () => {
  test('takes the dimensions that are counted', () => assert.deepEqual(BY, USAGE_DIMENSIONS));

  test('prints a table with a total', async () => {
    using folder = recorded();
    assert.equal(
      await printed('--database', folder.path, ...DAY),
      [
        '2026-11-29T00:00Z to 2026-11-30T00:00Z',
        '',
        'USER      UP      DOWN    TOTAL   FLOWS',
        'ann       1.0 MB  2.0 MB  3.0 MB      1',
        'bob, "b"  100 B   200 B   300 B       1',
        '(none)    1 B     2 B     3 B         1',
        'total     1.0 MB  2.0 MB  3.0 MB      3',
        '',
      ].join('\n'),
    );
  });

  test('prints JSON, in which flows without an account have no name', async () => {
    using folder = recorded();
    const json = JSON.parse(await printed('--database', folder.path, '--json', ...DAY)) as object;
    assert.deepEqual(json, {
      by: 'user',
      since: '2026-11-29T00:00Z',
      until: '2026-11-30T00:00Z',
      total: { up: 1_000_101, down: 2_000_202, flows: 3 },
      names: [
        { name: 'ann', up: 1_000_000, down: 2_000_000, flows: 1 },
        { name: 'bob, "b"', up: 100, down: 200, flows: 1 },
        { name: null, up: 1, down: 2, flows: 1 },
      ],
      other: { up: 0, down: 0, flows: 0 },
    });
  });

  test('prints comma-separated values', async () => {
    using folder = recorded();
    assert.equal(
      await printed('--database', folder.path, '--csv', ...DAY),
      'user,up,down,flows\r\nann,1000000,2000000,1\r\n"bob, ""b""",100,200,1\r\n,1,2,1\r\n',
    );
  });

  test('prints no name in CSV that a spreadsheet takes for a formula', async () => {
    using folder = databaseFolder();
    using writer = new UsageWriter(folder.path);
    const process = new FakeProcess();
    process.move('=1+1', 1, 2);
    const { position } = writer;
    writer.record(process.reportTo(position), position, Math.floor(NOW / 3_600_000));
    const csv = await printed('--database', folder.path, '--csv', ...DAY);
    assert.equal(csv, `user,up,down,flows\r\n"'=1+1",1,2,1\r\n`);
  });

  test('prints what was used in the time alone', async () => {
    using folder = recorded();
    const other = ['--since', '2026-11-28', '--until', '2026-11-28'];
    assert.match(await printed('--database', folder.path, ...other), /^total +0 B +0 B +0 B +0$/m);
  });

  test('fails without a database', async () => {
    const io = new CapturedIo();
    assert.equal(await usageCommand(['--database', '/nonexistent/usage.db'], io), 1);
    assert.match(io.err, /^weir usage: \/nonexistent\/usage\.db: unable to open database file/);
  });

  test('looks at this month by default, at the end of a day for --until', () => {
    const month = { since: Date.parse('2026-11-01T00:00Z'), until: NOW };
    assert.partialDeepStrictEqual(parseUsage([], NOW), { by: 'user', ...month });
    const days = parseUsage(['--since', '2026-11-01', '--until', '2026-11-02'], NOW);
    assert.partialDeepStrictEqual(days, { until: Date.parse('2026-11-03T00:00Z') });
  });

  test('records every second by default, for the Weir that is named', () => {
    assert.deepEqual(parseUsage(['record', '--config', 'a.toml', '--keep-hours', '30']), {
      kind: 'record',
      database: undefined,
      socket: undefined,
      config: 'a.toml',
      intervalMs: 1000,
      retention: { hours: 30, days: 1100 },
    });
  });

  for (const argv of [
    ['--by', 'colour'],
    ['--json', '--csv'],
    ['--database', ''],
    ['--since', '2026-11-02', '--until', '2026-11-01'],
    ['--interval', '5'],
    ['record', '--by', 'user'],
    ['record', '--interval', '0'],
    ['record', 'more'],
    ['recrod'],
  ]) {
    test(`refuses ${argv.join(' ')}`, () => assert.throws(() => parseUsage(argv), UsageError));
  }

  test('has the database of the service for root alone', () => {
    const isRoot = process.getuid?.() === 0;
    const path = defaultDatabase({ XDG_STATE_HOME: '/home/ann/state' });
    assert.equal(path, isRoot ? '/var/lib/weir/usage.db' : '/home/ann/state/weir/usage.db');
  });
});
