import type { DashboardContext, PageTopic } from '../contract.ts';
import {
  arrange,
  type Arranged,
  type Arranging,
  type Entry,
  type GroupSums,
} from './arrangement.ts';
import { matcherOf, parseFilter } from '@weir/client/filter';
import { flowRow } from './flow-row.ts';
import { FrozenOrder } from './frozen-order.ts';
import { readConnectionsParameters } from './parameters.ts';
import type { ConnectionRow, ConnectionsParameters, ConnectionListView, GroupRow } from './view.ts';

/** Maximum number of cached arrangements: pages have few filters and orders at a time. */
const MAX_ARRANGED = 4;
/** Maximum number of frozen orders: each page has one, and its previous ones expire. */
const MAX_FROZEN = 16;
/**
 * Milliseconds after which a frozen order that no page requests is dropped: it holds the last state of all its flows.
 */
const FROZEN_MS = 60_000;

const NO_SUMS: GroupSums = { flows: 0, up: 0, down: 0, upRate: 0, downRate: 0 };

/** The topic `connections`: the list of flows, filtered and arranged, limited to the window that a page shows. */
export function createConnectionsTopic({ monitor, now }: DashboardContext): PageTopic {
  /**
   * Arrangements since the last change of the monitor, which changes every 250 ms at most: pages that show the same
   * list share an entry, and a page that scrolls reads further rows of it.
   */
  const arranged = new Map<string, Arranged>();
  /** Frozen orders by their key, the most recently used last. */
  const frozen = new Map<string, { readonly order: FrozenOrder; readonly usedAt: number }>();
  monitor.onChange(() => {
    arranged.clear();
    for (const [name, { usedAt }] of frozen) {
      if (Math.abs(now() - usedAt) < FROZEN_MS) break;
      frozen.delete(name);
    }
  });

  const arrangedFor = (key: string, arranging: Arranging): Arranged => {
    const known = arranged.get(key);
    if (known) return known;
    const made = arrange(monitor.flows.values(), arranging, now());
    keep(arranged, key, made, MAX_ARRANGED);
    return made;
  };
  const frozenFor = (word: string, key: string, live: Arranged): FrozenOrder => {
    const name = `${word} ${key}`;
    const order = frozen.get(name)?.order ?? new FrozenOrder(live);
    keep(frozen, name, { order, usedAt: now() }, MAX_FROZEN);
    return order;
  };
  const openFlows = (): number => {
    let count = 0;
    for (const { closedAt } of monitor.flows.values()) if (closedAt === undefined) count++;
    return count;
  };

  const viewOf = (parameters: Required<ConnectionsParameters>): ConnectionListView => {
    const { filter, first, count, freeze } = parameters;
    const parsed = parseFilter(filter);
    const listed = monitor.listedAt !== undefined;
    const flows = openFlows();
    if (parsed.problem) {
      const { problem } = parsed;
      return {
        rows: [],
        first: 0,
        total: 0,
        matching: 0,
        flows,
        fresh: 0,
        filter,
        problem,
        listed,
      };
    }
    const arranging = arrangingOf(parameters, matcherOf(parsed.terms));
    const key = JSON.stringify([
      filter,
      arranging.sort,
      arranging.descending,
      arranging.group,
      ...arranging.open,
    ]);
    const live = arrangedFor(key, arranging);
    const order = freeze === '' ? undefined : frozenFor(freeze, key, live);
    const { entries } = order ?? live;
    const from = Math.max(0, Math.min(first, entries.length - count));
    const rows = entries.slice(from, from + count).map((entry): ConnectionRow => {
      if (typeof entry === 'string') return groupRow(entry, arranging, live);
      return flowRow(order?.flow(entry.view.id, monitor.flows, now()) ?? entry);
    });
    return {
      rows,
      first: from,
      total: entries.length,
      matching: live.matching,
      flows,
      fresh: order?.freshIn(live) ?? 0,
      filter,
      problem: null,
      listed,
    };
  };

  return {
    name: 'connections',
    view: (parameters) => viewOf(readConnectionsParameters(parameters)),
  };
}

const arrangingOf = (
  { sort, descending, group, open }: Required<ConnectionsParameters>,
  matches: Arranging['matches'],
): Arranging => ({
  matches,
  sort,
  descending,
  group: group === 'none' ? undefined : group,
  open: new Set(open),
});

function groupRow(name: Extract<Entry, string>, { open }: Arranging, { sums }: Arranged): GroupRow {
  const { flows, up, down, upRate, downRate } = sums.get(name) ?? NO_SUMS;
  return {
    id: `group ${name}`,
    group: name,
    isOpen: open.has(name),
    flows,
    up,
    down,
    upRate: Math.round(upRate),
    downRate: Math.round(downRate),
  };
}

/** Moves an entry to the end of a map, and drops the oldest entries beyond `most`. */
function keep<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}
