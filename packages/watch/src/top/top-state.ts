import type { FlowMatcher } from '@weir/client/filter';
import type { Monitor, MonitoredFlow, FailingOutbound, HealthReport } from '@weir/client/monitor';
import type { RouteView } from '@weir/config/route-view';

/** Columns that flows are sorted by, in the order of the key `s`. */
export const SORTS = ['rate', 'age', 'down', 'up', 'host', 'outbound', 'user', 'source'] as const;
export type TopSort = (typeof SORTS)[number];

/** The state of the screen, which keys change; see `press`. */
export interface TopState {
  readonly page: 'flows' | 'routes';
  readonly sort: TopSort;
  /** Whether the order is the opposite of the column's default. */
  readonly reversed: boolean;
  readonly filter: AppliedFilter;
  /** Id of the flow under the cursor. */
  readonly flow: number | undefined;
  /** Name of the route under the cursor. */
  readonly route: string | undefined;
  /** Whether flows keep their state and position. */
  readonly isFrozen: boolean;
  readonly overlay: Overlay | undefined;
  /** Scroll position of an overlay that is too long: its lines above the window. */
  readonly scrolled: { readonly overlay: Overlay; readonly lines: number } | undefined;
}

interface AppliedFilter {
  readonly text: string;
  readonly matches: FlowMatcher;
}

/** An overlay over the page, which receives the keys. */
export type Overlay =
  | { readonly kind: 'help' }
  | { readonly kind: 'details'; readonly flow: number }
  /** The line in which a filter is typed. */
  | { readonly kind: 'filter'; readonly text: string; readonly problem: string | undefined }
  /** The targets that a route can be set to. */
  | {
      readonly kind: 'targets';
      readonly route: string;
      /** Index among the targets whose name contains `find`, in any case. */
      readonly cursor: number;
      readonly find: string;
      /** Whether keys are typed into `find`. */
      readonly isTyping: boolean;
    }
  | { readonly kind: 'question'; readonly question: ChangePrompt }
  | { readonly kind: 'busy'; readonly text: string }
  | { readonly kind: 'message'; readonly title: string; readonly lines: readonly string[] };

/** Overlays that consist of lines of text. */
export type TextOverlay = Exclude<Overlay, { readonly kind: 'filter' | 'targets' }>;

/** A question before a change. */
export interface ChangePrompt {
  readonly title: string;
  /** Effects of the change. */
  readonly effects: readonly string[];
  readonly answers: readonly ChangeChoice[];
}

export interface ChangeChoice {
  readonly key: string;
  /** Description: `pick, and close these flows`. */
  readonly text: string;
  /** The equivalent command. */
  readonly command: string;
  /** Makes the change; resolves with a text to show. @throws {WeirError} */
  readonly run: () => Promise<string>;
}

export const EVERY_FLOW: AppliedFilter = { text: '', matches: () => true };

export const FIRST_STATE: TopState = {
  page: 'flows',
  sort: 'rate',
  reversed: false,
  filter: EVERY_FLOW,
  flow: undefined,
  route: undefined,
  isFrozen: false,
  overlay: undefined,
  scrolled: undefined,
};

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
interface ShownRoute {
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
