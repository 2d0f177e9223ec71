import type { FlowView } from '@weir/server/api/views';
import type { MonitoredFlow } from '@weir/client/monitor';
import {
  type Arranged,
  type Entry,
  arrange,
  type Arranging,
  type GroupSums,
  flowRow,
} from './arrangement.ts';
import type { DashboardContext, PageTopic, CreatePageSource } from '../contract.ts';
import { matcherOf, parseFilter, filterValue } from '@weir/client/filter';
import { readConnectionsParameters, readId } from './parameters.ts';
import type {
  ConnectionRow,
  ConnectionsParameters,
  ConnectionListView,
  GroupRow,
  ConnectionDetails,
  LikeFilter,
} from './view.ts';
import { createCloseActions } from './close-flows.ts';

/** Rows that keep their positions while their flows change or close. */
class FrozenOrder {
  readonly entries: readonly Entry[];
  /** The last known state of each flow that matched, for when the monitor has forgotten it. */
  readonly #last: Map<number, MonitoredFlow>;
  #counted: { readonly of: Arranged; readonly fresh: number } | undefined;

  constructor({ entries, flows }: Arranged) {
    this.entries = entries;
    this.#last = new Map(flows.map((flow) => [flow.view.id, flow]));
  }

  /** The number of flows of `now` that did not match when the order was frozen. Counted once for each arrangement. */
  freshIn(now: Arranged): number {
    if (this.#counted?.of === now) return this.#counted.fresh;
    let fresh = 0;
    for (const { view } of now.flows) if (!this.#last.has(view.id)) fresh++;
    this.#counted = { of: now, fresh };
    return fresh;
  }

  /** The current state of a flow, or its last known one. */
  flow(
    id: number,
    flows: ReadonlyMap<number, MonitoredFlow>,
    now: number,
  ): MonitoredFlow | undefined {
    const current = flows.get(id);
    const known = current ?? this.#last.get(id);
    if (!known) return undefined;
    // The flow was closed and forgotten between two reads of it here.
    const flow = current || known.closedAt !== undefined ? known : { ...known, closedAt: now };
    this.#last.set(id, flow);
    return flow;
  }
}

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

/** Maximum number of other flows of the session that are listed. */
const MAX_OTHERS = 20;

/** One connection: the topic `connection`, with the parameter `{ id }`. */
export function createDetailsTopic({ monitor }: DashboardContext): PageTopic {
  const detailsOf = (id: number): ConnectionDetails => {
    const flow = monitor.flows.get(id);
    if (!flow) return null;
    const { session, rule } = flow.view;
    const others = [...monitor.flows.values()].filter(
      ({ view }) => session !== null && view.session === session && view.id !== id,
    );
    const group = monitor.status?.value.routes.groups.find(
      ({ first_rule: first, rules }) => rule !== null && rule >= first && rule < first + rules,
    );
    return {
      flow: flowRow(flow),
      routeGroup: group?.name ?? null,
      others: others.slice(-MAX_OTHERS).toReversed().map(flowRow),
      otherCount: others.length,
      alike: alikeOf(flow, monitor.flows.values()),
    };
  };
  return {
    name: 'connection',
    view: (parameters) => detailsOf(readId(parameters)),
  };
}

interface Likeness {
  readonly what: string;
  readonly filter: string;
  readonly matches: (view: FlowView) => boolean;
}

function alikeOf(flow: MonitoredFlow, all: Iterable<MonitoredFlow>): readonly LikeFilter[] {
  const likenesses = likenessesOf(flow.view);
  const counts = likenesses.map(() => 0);
  for (const { view, closedAt } of all) {
    if (closedAt !== undefined) continue;
    for (const [index, { matches }] of likenesses.entries()) {
      if (matches(view)) counts[index] = (counts[index] ?? 0) + 1;
    }
  }
  return likenesses.map(({ what, filter }, index) => ({ what, filter, flows: counts[index] ?? 0 }));
}

function likenessesOf({ session, user, source, ...flow }: FlowView): readonly Likeness[] {
  const { host, outbound, inbound, rule } = flow;
  const list: Likeness[] = [];
  const add = (what: string, filter: string, matches: Likeness['matches']): void =>
    void list.push({ what, filter, matches });
  if (session !== null) add('session', `session:${session}`, (of) => of.session === session);
  if (user !== null) add('user', `user:${filterValue(user)}`, (of) => of.user === user);
  if (source !== null) add('source', `src:${filterValue(source)}`, (of) => of.source === source);
  const isHost = (of: FlowView): boolean => of.host === host || of.sniffed === host;
  add('host', `host:${filterValue(host)}`, isHost);
  add('outbound', `out:${filterValue(outbound)}`, (of) => of.outbound === outbound);
  add('inbound', `in:${filterValue(inbound)}`, (of) => of.inbound === inbound);
  add('rule', `rule:${rule ?? 'default'}`, (of) => of.rule === rule);
  return list;
}

/** The page Connections: its topics and actions. */
export const createConnectionsSource: CreatePageSource = (context) => ({
  topics: [createConnectionsTopic(context), createDetailsTopic(context)],
  actions: createCloseActions(context),
});
