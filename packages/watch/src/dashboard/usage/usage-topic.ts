import { LRUCache } from 'lru-cache';
import { messageOf } from '@weir/base';
import { USAGE_DIMENSIONS, type UsageDimension } from '@weir/proxy/tracker';
import { HOUR_MS } from '@weir/base/text/amounts';
import { firstHour, numberOf, type Unit } from '../../usage/periods.ts';
import { isSome } from '../../usage/counts.ts';
import { UsageDatabase } from '../../usage/usage-query.ts';
import type { CreatePageSource, DashboardContext, PageTopic } from '../contract.ts';
import { Parameters } from '../parameters.ts';
import type { UsageBar, UsageRange, UsageRow, RecordedUsageView } from './view.ts';

const RANGES: readonly UsageRange[] = ['day', 'week', 'month', 'year'];

/** The periods of a range, the current one included, and milliseconds for which a view of it is kept. */
const PERIODS: Readonly<
  Record<UsageRange, { readonly unit: Unit; readonly count: number; readonly keptMs: number }>
> = {
  day: { unit: 'hours', count: 24, keptMs: 2_000 },
  week: { unit: 'days', count: 7, keptMs: 5_000 },
  month: { unit: 'days', count: 30, keptMs: 5_000 },
  // Takes some 50 ms with a thousand accounts.
  year: { unit: 'months', count: 12, keptMs: 60_000 },
};

/** Maximum number of names; fewer than `MAX_ROWS`, since the rest is a row as well. */
const MOST_NAMES = 50;

/** Maximum number of views that are kept: the pages of one reader seldom have more. */
const MAX_KEPT = 8;

/** Milliseconds between looks at the database while a page watches. */
const LOOK_MS = 2_000;

interface Question {
  readonly by: UsageDimension;
  readonly range: UsageRange;
  /** The name that the chart shows; empty for all. */
  readonly name: string;
}

interface KeptView {
  readonly at: number;
  readonly view: RecordedUsageView;
}

/** The page Usage: recorded usage by name, and a chart of it. */
export const createUsageSource: CreatePageSource = (context) => ({
  topics: [usageTopic(context)],
  actions: [],
});

function usageTopic(context: Pick<DashboardContext, 'usage' | 'now'>): PageTopic {
  const kept = new LRUCache<string, KeptView>({ max: MAX_KEPT });
  return {
    name: 'usage',
    view: (parameters): RecordedUsageView => {
      const question = questionIn(new Parameters(parameters));
      const key = JSON.stringify(question);
      const at = context.now();
      const before = kept.get(key);
      // Not the age alone: the clock may be set back.
      if (before && Math.abs(at - before.at) < PERIODS[question.range].keptMs) return before.view;
      const view = recordedUsageView(context, question);
      kept.set(key, { at, view });
      return view;
    },
    onChange(listener) {
      const timer = setInterval(listener, LOOK_MS);
      return { [Symbol.dispose]: () => clearInterval(timer) };
    },
  };
}

const questionIn = (given: Parameters): Question => ({
  by: given.choice('by', USAGE_DIMENSIONS, 'user'),
  range: given.choice('range', RANGES, 'month'),
  name: given.text('name', ''),
});

function recordedUsageView(
  { usage: path, now }: Pick<DashboardContext, 'usage' | 'now'>,
  question: Question,
): RecordedUsageView {
  if (path === undefined) return { kind: 'none', path: null, problem: 'no database is known' };
  try {
    using database = new UsageDatabase(path);
    return database.atOnce(() => readView(database, path, now(), question));
  } catch (error) {
    return { kind: 'none', path, problem: messageOf(error) };
  }
}

function readView(
  database: UsageDatabase,
  path: string,
  now: number,
  { by, range, name }: Question,
): RecordedUsageView {
  const { unit, count } = PERIODS[range];
  const last = numberOf(unit, Math.floor(now / HOUR_MS));
  const first = last - count + 1;
  const asked = {
    by,
    since: firstHour(unit, first) * HOUR_MS,
    until: firstHour(unit, last + 1) * HOUR_MS,
  };
  const { since, until, names, other, total } = database.sums(asked);
  const used = new Map(
    database.series(asked, unit, name === '' ? undefined : name).map((each) => [each.at, each]),
  );
  const bars = Array.from({ length: count }, (_, index): UsageBar => {
    const id = firstHour(unit, first + index) * HOUR_MS;
    const { up = 0, down = 0 } = used.get(id) ?? {};
    return { id, up, down };
  });
  const rows: UsageRow[] = names
    .slice(0, MOST_NAMES)
    .map((row) => ({ id: `=${row.name}`, ...row }));
  if (isSome(other)) rows.push({ id: 'other', name: null, ...other });
  const more = Math.max(0, names.length - MOST_NAMES);
  return { kind: 'read', path, since, until, total, rows, more, unit, bars };
}
