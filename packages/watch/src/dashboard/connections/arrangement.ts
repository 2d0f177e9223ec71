import type { MonitoredFlow } from '@weir/client/monitor';
import type { FlowRow } from './view.ts';
import type { GroupKey, SortKey } from '../shared/connection-keys.ts';
import type { FlowMatcher } from '@weir/client/filter';

/** The row of a flow, as pages receive it. */
export function flowRow({ view, upRate, downRate, closedAt }: MonitoredFlow): FlowRow {
  return {
    id: view.id,
    session: view.session,
    network: view.network,
    inbound: view.inbound,
    user: view.user,
    source: view.source,
    host: view.host,
    port: view.port,
    sniffed: view.sniffed,
    outbound: view.outbound,
    version: view.outbound_version,
    rule: view.rule,
    startedAt: view.started_at,
    closedAt: closedAt ?? null,
    up: view.up,
    down: view.down,
    upRate: Math.round(upRate),
    downRate: Math.round(downRate),
  };
}

/** The name of the group that a flow belongs to. */
export function groupOf({ view }: MonitoredFlow, key: GroupKey): string {
  switch (key) {
    case 'host':
      return view.sniffed ?? view.host;
    case 'rule':
      return view.rule === null ? 'default' : String(view.rule);
    case 'user':
    case 'source':
      return view[key] ?? '';
    case 'outbound':
    case 'inbound':
    case 'network':
      return view[key];
    default:
      return key satisfies never;
  }
}

/** Filter, order and grouping of a list of flows. */
export interface Arranging {
  readonly matches: FlowMatcher;
  readonly sort: SortKey;
  readonly descending: boolean;
  readonly group: GroupKey | undefined;
  /** Names of the groups whose flows are listed. */
  readonly open: ReadonlySet<string>;
}

/** The content of one row: a flow, or the name of the group whose heading it is. */
export type Entry = MonitoredFlow | string;

export interface GroupSums {
  flows: number;
  up: number;
  down: number;
  upRate: number;
  downRate: number;
}

/** Flows that match a filter, in order. */
export interface Arranged {
  readonly entries: readonly Entry[];
  /** All matching flows, including those of groups that are not open. */
  readonly flows: readonly MonitoredFlow[];
  readonly sums: ReadonlyMap<string, GroupSums>;
  /** Number of open flows that match. */
  readonly matching: number;
}

/** Filters, sorts and groups flows, which are given in the order of their ids. */
export function arrange(
  flows: Iterable<MonitoredFlow>,
  { matches, sort, descending, group, open }: Arranging,
  now: number,
): Arranged {
  const matched: MonitoredFlow[] = [];
  let matching = 0;
  for (const flow of flows) {
    if (!matches(flow, now)) continue;
    matched.push(flow);
    if (flow.closedAt === undefined) matching++;
  }
  if (group === undefined) {
    const entries = sorted(matched, sort, descending);
    return { entries, flows: entries, sums: new Map(), matching };
  }
  const groups = Map.groupBy(matched, (flow) => groupOf(flow, group));
  const sums = new Map([...groups].map(([name, members]) => [name, sumsOf(members)]));
  const entries: Entry[] = [];
  for (const name of orderedGroups(sums, sort, descending)) {
    entries.push(name);
    if (!open.has(name)) continue;
    for (const flow of sorted(groups.get(name) ?? [], sort, descending)) entries.push(flow);
  }
  return { entries, flows: matched, sums, matching };
}

function sumsOf(flows: readonly MonitoredFlow[]): GroupSums {
  const sums = { flows: 0, up: 0, down: 0, upRate: 0, downRate: 0 };
  for (const { view, upRate, downRate, closedAt } of flows) {
    if (closedAt !== undefined) continue;
    sums.flows++;
    sums.up += view.up;
    sums.down += view.down;
    sums.upRate += upRate;
    sums.downRate += downRate;
  }
  return sums;
}

/** Names of the groups, ordered by the column's sum; for a column without one by flows, the most first. */
function orderedGroups(
  sums: ReadonlyMap<string, GroupSums>,
  sort: SortKey,
  descending: boolean,
): readonly string[] {
  const sumOf = SUMS[sort];
  const amount = sumOf ?? (({ flows }: GroupSums) => flows);
  const sign = descending || !sumOf ? -1 : 1;
  return [...sums]
    .sort(([a, one], [b, other]) => sign * (amount(one) - amount(other)) || compareTexts(a, b))
    .map(([name]) => name);
}

/** Flows sorted by a column; those that compare equal stay in the order of their ids. */
function sorted(
  flows: readonly MonitoredFlow[],
  sort: SortKey,
  descending: boolean,
): readonly MonitoredFlow[] {
  const sign = descending ? -1 : 1;
  const amount = AMOUNTS[sort];
  if (amount) return byAmount(flows, amount, descending);
  const text = TEXTS[sort];
  if (text) {
    const keys = flows.map(text);
    return byIndex(flows, (a, b) => sign * compareTexts(keys[a] ?? '', keys[b] ?? '') || b - a);
  }
  // Flows are given in the order in which they started: the youngest are at the end.
  return descending ? flows : flows.toReversed();
}

/** Flows sorted by a non-negative amount. Most rates are 0, and those flows need no comparison. */
function byAmount(
  flows: readonly MonitoredFlow[],
  amount: (flow: MonitoredFlow) => number,
  descending: boolean,
): readonly MonitoredFlow[] {
  const none: MonitoredFlow[] = [];
  const some: { readonly flow: MonitoredFlow; readonly amount: number }[] = [];
  for (const flow of flows.toReversed()) {
    const value = amount(flow);
    if (value === 0) none.push(flow);
    else some.push({ flow, amount: value });
  }
  // The sort is stable: flows that compare equal stay in the order of their ids, the youngest first.
  const sign = descending ? -1 : 1;
  const ordered = some.sort((a, b) => sign * (a.amount - b.amount)).map(({ flow }) => flow);
  return descending ? [...ordered, ...none] : [...none, ...ordered];
}

function byIndex(
  flows: readonly MonitoredFlow[],
  compare: (a: number, b: number) => number,
): readonly MonitoredFlow[] {
  const order = Uint32Array.from(flows, (_, index) => index).sort(compare);
  const result: MonitoredFlow[] = [];
  for (const index of order) {
    const flow = flows[index];
    if (flow) result.push(flow);
  }
  return result;
}

/** Sums of a group by column. */
const SUMS: Readonly<Partial<Record<SortKey, (sums: GroupSums) => number>>> = {
  up: ({ up }) => up,
  down: ({ down }) => down,
  rate: ({ upRate, downRate }) => upRate + downRate,
};

/** Values of the numeric columns. */
const AMOUNTS: Readonly<Partial<Record<SortKey, (flow: MonitoredFlow) => number>>> = {
  up: ({ view }) => view.up,
  down: ({ view }) => view.down,
  rate: ({ upRate, downRate }) => upRate + downRate,
  // The default route comes after all rules.
  rule: ({ view }) => view.rule ?? Number.MAX_SAFE_INTEGER,
};

/** Values of the text columns. */
const TEXTS: Readonly<Partial<Record<SortKey, (flow: MonitoredFlow) => string>>> = {
  host: ({ view }) => view.sniffed ?? view.host,
  user: ({ view }) => view.user ?? '',
  source: ({ view }) => view.source ?? '',
  inbound: ({ view }) => view.inbound,
  outbound: ({ view }) => view.outbound,
};

/** Compares by code units: a collator takes ten times as long, and these texts are mostly ASCII. */
const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
