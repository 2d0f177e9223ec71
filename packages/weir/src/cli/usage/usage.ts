import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf, UsageError, WeirError } from '@weir/base';
import { printableJson, printableLines } from '@weir/base/printable';
import { csvTable, textTable } from '@weir/base/tables';
import { bytes } from '@weir/base/text/amounts';
import { needServing } from '@weir/client';
import {
  isSome,
  recordUsage,
  STANDARD_RETENTION,
  UsageDatabase,
  type UsageSums,
  UsageWriter,
} from '@weir/watch/usage';
import {
  chooseSubcommand,
  commandOf,
  type CommandIo,
  expectOperands,
  optionLines,
  parseOptions,
  untilStopped,
} from '../command.ts';
import { choiceOf, parseCount } from '../option-values.ts';
import { whichOf } from '../running-options.ts';
import { defaultDatabase } from './default-database.ts';
import { BY, RECORD_OPTIONS, SHOW_OPTIONS, USAGE } from './specs.ts';
import { parseTime } from './times.ts';

const USAGE_HELP = `weir usage, which prints who used how much

Usage: weir usage [--by WHAT] [--since TIME] [--until TIME] [--json|--csv] [--database FILE]
       weir usage record [--database FILE] [options]

Options:
${optionLines(USAGE.options)}
Options of record:
${optionLines(RECORD_OPTIONS)}
The sums are those that weir usage record has read of a running Weir, by hours of UTC. A TIME is
90m, 12h or 7d ago, today, yesterday, "this month", "last month", "this year", or as 2026,
2026-11, 2026-11-30 and 2026-11-30T15:00. --since takes the begin of a day, month or year, and
--until its end.
`;

const ALL_OPTIONS = { ...USAGE.options, ...RECORD_OPTIONS } as const;

/** The longest time between two readings, in seconds, and the longest that sums are kept, in days. */
const MOST_SECONDS = 3600;
const MOST_DAYS = 36_500;

/** Parses the arguments of `weir usage`. @throws {UsageError} for invalid arguments */
export function parseUsage(argv: readonly string[], now = Date.now()) {
  const parsed = parseOptions(argv, ALL_OPTIONS);
  const { values, positionals } = parsed;
  if (values.help === true) return undefined;
  const { database } = values;
  return positionals.length === 0
    ? showArguments(parsed, database, now)
    : recordArguments(parsed, database);
}

type Parsed = ReturnType<typeof parseOptions<typeof ALL_OPTIONS>>;

function showArguments({ values }: Parsed, database: string | undefined, now: number) {
  for (const name of Object.keys(values)) {
    if (!(name in USAGE.options)) throw new UsageError(`--${name} goes with usage record`);
  }
  const { by = 'user', since = 'this month', until, json = false, csv = false } = values;
  if (json && csv) throw new UsageError('--json and --csv exclude each other');
  const from = parseTime('--since', since, now).start;
  const end = until === undefined ? now : parseTime('--until', until, now).end;
  if (end <= from) throw new UsageError('--until is not after --since');
  const format = json ? ('json' as const) : csv ? ('csv' as const) : ('table' as const);
  return {
    kind: 'show' as const,
    database,
    format,
    by: choiceOf('by', BY, by),
    since: from,
    until: end,
  };
}

function recordArguments(parsed: Parsed, database: string | undefined) {
  for (const name of Object.keys(SHOW_OPTIONS)) {
    if (name in parsed.values) throw new UsageError(`--${name} does not go with usage record`);
  }
  const { operands } = chooseSubcommand(USAGE, parsed);
  expectOperands('usage record', operands);
  const { values } = parsed;
  const daysOf = (name: 'keep-hours' | 'keep-days', standard: number): number =>
    values[name] === undefined ? standard : parseCount(`--${name}`, values[name], MOST_DAYS);
  return {
    kind: 'record' as const,
    database,
    ...whichOf(values),
    intervalMs: parseCount('--interval', values.interval ?? '1', MOST_SECONDS) * 1000,
    retention: {
      hours: daysOf('keep-hours', STANDARD_RETENTION.hours),
      days: daysOf('keep-days', STANDARD_RETENTION.days),
    },
  };
}

type UsageArguments = NonNullable<ReturnType<typeof parseUsage>>;
type ShowArguments = Extract<UsageArguments, { readonly kind: 'show' }>;
type RecordArguments = Extract<UsageArguments, { readonly kind: 'record' }>;

/**
 * `weir usage`: prints recorded usage, or records it until a signal stops it. Resolves with the exit status.
 * @throws {UsageError}
 */
export const usageCommand = commandOf<UsageArguments>(
  ({ kind }) => (kind === 'record' ? 'usage record' : USAGE.name),
  USAGE_HELP,
  parseUsage,
  (asked, io) => (asked.kind === 'show' ? Promise.resolve(show(asked, io)) : record(asked, io)),
);

function show({ database, by, since, until, format }: ShowArguments, io: CommandIo): number {
  const path = database ?? defaultDatabase(io.env);
  let sums: UsageSums;
  {
    using opened = new UsageDatabase(path);
    sums = opened.sums({ by, since, until });
  }
  io.stdout.write(formatted(by, sums, format));
  return 0;
}

function formatted(by: string, sums: UsageSums, format: ShowArguments['format']): string {
  switch (format) {
    case 'json':
      return `${printableJson(jsonOf(by, sums))}\n`;
    case 'csv':
      return csvOf(by, sums);
    case 'table':
      return tableOf(by, sums);
    default:
      return format satisfies never;
  }
}

const iso = (ms: number): string => new Date(ms).toISOString().replace(':00.000Z', 'Z');

const jsonOf = (by: string, { since, until, total, names, other }: UsageSums): object => ({
  by,
  since: iso(since),
  until: iso(until),
  total,
  names: names.map(({ name, ...counts }) => ({ name: name === '' ? null : name, ...counts })),
  other,
});

/** What names in brackets stand for: flows without a name, and those of names that were not kept. */
const NONE = '(none)';
const OTHER = '(other)';

/** The row of names that were not kept, if they have used anything. */
const otherIn = (other: UsageSums['other']) => (isSome(other) ? [{ name: OTHER, ...other }] : []);

function tableOf(by: string, { since, until, total, names, other }: UsageSums): string {
  const rows = [
    ...names.map(({ name, ...counts }) => ({ name: name === '' ? NONE : name, ...counts })),
    ...otherIn(other),
    { name: 'total', ...total },
  ];
  const table = textTable(
    [by.toUpperCase(), 'UP', 'DOWN', 'TOTAL', 'FLOWS'],
    rows.map(({ name, up, down, flows }) => [
      name,
      bytes(up),
      bytes(down),
      bytes(up + down),
      flows,
    ]),
  );
  return `${iso(since)} to ${iso(until)}\n\n${table}`;
}

/** Comma-separated values, in bytes. */
const csvOf = (by: string, { names, other }: UsageSums): string =>
  csvTable([
    [by, 'up', 'down', 'flows'],
    ...[...names, ...otherIn(other)].map(({ name, up, down, flows }) => [name, up, down, flows]),
  ]);

async function record(asked: RecordArguments, io: CommandIo): Promise<number> {
  const { socket, config, intervalMs, retention } = asked;
  const path = asked.database ?? defaultDatabase(io.env);
  if (asked.database === undefined) makeFolder(dirname(path));
  using writer = new UsageWriter(path, retention);
  const stopped = new AbortController();
  void untilStopped().then(() => stopped.abort());
  const line = (text: string): void => void io.stderr.write(`${printableLines(text)}\n`);
  const means = {
    writer,
    intervalMs,
    find: () => needServing({ socket, config, env: io.env }),
    onChange(problem: Error | undefined): void {
      if (!problem) line(`weir usage record: recording into ${path}`);
      else line(`weir usage record: not recording: ${problemText(problem)}`);
    },
  };
  await recordUsage(means, stopped.signal);
  return 0;
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new WeirError('usage_folder', messageOf(error), { cause: error });
  }
}

const problemText = (problem: Error): string =>
  problem instanceof WeirError ? problem.message : `internal error: ${problem.message}`;
