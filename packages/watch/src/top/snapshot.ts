import type { Monitor, MonitoredFlow, FailingOutbound, HealthReport } from '@weir/client/monitor';
import type { RouteView } from '@weir/config/route-view';
import type { TopSort, TopState } from './top-state.ts';

/** The data that the screen shows, at one moment. */
export interface Snapshot {
  /** Unix milliseconds. */
  readonly now: number;
  readonly health: HealthReport;
  readonly monitor: Monitor;
  /** Flows that match the filter, in order. */
  readonly flows: readonly MonitoredFlow[];
  readonly failing: readonly FailingOutbound[];
  readonly readOnly: boolean;
  /** The name of the configuration file. */
  readonly name: string;
  readonly size: ScreenSize;
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** A route in the list of routes. */
export interface ShownRoute {
  readonly name: string;
  readonly pick: string | null;
  readonly target: string | null;
  readonly inherits: string;
}

/** The groups in matching order, then the default route. */
export function routeRows(view: RouteView | undefined): readonly ShownRoute[] {
  if (!view) return [];
  const groups = view.groups.map(({ name, pick, target, inherit }) => ({
    name,
    pick,
    target,
    inherits: typeof inherit === 'string' ? inherit : inherit.group,
  }));
  return [...groups, { name: 'default', ...view.default, inherits: '' }];
}

/** The targets whose name contains a text, in any case. */
export function targetsWith(view: RouteView | undefined, find: string): RouteView['targets'] {
  const word = find.toLowerCase();
  return (view?.targets ?? []).filter(({ name }) => name.toLowerCase().includes(word));
}

const AMOUNTS: Partial<Record<TopSort, (flow: MonitoredFlow) => number>> = {
  rate: ({ upRate, downRate }) => upRate + downRate,
  down: ({ view }) => view.down,
  up: ({ view }) => view.up,
  // Oldest first.
  age: ({ view }) => -view.id,
};

const TEXTS: Partial<Record<TopSort, (flow: MonitoredFlow) => string>> = {
  host: ({ view }) => view.sniffed ?? view.host,
  outbound: ({ view }) => view.outbound,
  user: ({ view }) => view.user ?? '',
  source: ({ view }) => view.source ?? '',
};

/**
 * Sorts the flows that match, in the order of the state: the largest amount or the first name at the top, and by id
 * where these are equal.
 *
 * Flows are grouped by amount or name, and only those are sorted, without a comparing function: sorting 10,000 flows by
 * a function takes ten times as long.
 *
 * @param flows in the order of their ids
 */
export function sortFlows(
  flows: Iterable<MonitoredFlow>,
  { filter, sort, reversed }: Pick<TopState, 'filter' | 'sort' | 'reversed'>,
  now: number,
): readonly MonitoredFlow[] {
  const found: MonitoredFlow[] = [];
  for (const flow of flows) if (filter.matches(flow, now)) found.push(flow);
  const amount = AMOUNTS[sort];
  if (amount) {
    const byAmount = Map.groupBy(found, amount);
    const amounts = Float64Array.from(byAmount.keys()).sort();
    // Largest first.
    if (!reversed) amounts.reverse();
    return Array.from(amounts, (each) => byAmount.get(each) ?? []).flat();
  }
  const byText = Map.groupBy(found, TEXTS[sort] ?? (() => ''));
  // oxlint-disable-next-line require-array-sort-compare -- by code units
  const texts = [...byText.keys()].sort();
  if (reversed) texts.reverse();
  return texts.flatMap((each) => byText.get(each) ?? []);
}
