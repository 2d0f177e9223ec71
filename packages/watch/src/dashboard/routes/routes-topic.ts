import type { RoutesStatus, MemberStatus } from '@weir/server/control';
import { DEFAULT_GROUP } from '@weir/config';
import type { MonitoredFlow, Monitor } from '@weir/client/monitor';
import type { RouteTargetView, RouteView } from '@weir/config/route-view';
import type { ConfigState } from '../config/config-state.ts';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { jsonOf, Parameters } from '../parameters.ts';
import { resolveRoutes, type ResolvedRoute } from './resolve-routes.ts';
import type { PickState } from './pick-state.ts';
import type { RouteRow, RoutesView, RouteTargetsView, TargetRow } from './view.ts';
import type { NodeProbes } from '../nodes/node-probes.ts';
import type { FileModel } from '../reader/file-model.ts';

/** The open flows of a route and their rates, in bytes per second. */
interface RouteFlows {
  flows: number;
  upRate: number;
  downRate: number;
}

/** Open flows, counted by the route that they took. */
interface CountedFlows {
  /** Counts by group name, and `default`. Groups without a flow are left out. */
  readonly routes: ReadonlyMap<string, RouteFlows>;
  /** Number of open flows on each outbound. */
  readonly outbounds: ReadonlyMap<string, number>;
  /** Number of flows that were routed by earlier rules. */
  readonly earlier: number;
}

/**
 * Counts flows by route in one pass.
 * @param rules the route of each rule index; without them only the default route is counted
 */
function countFlows(flows: Iterable<MonitoredFlow>, rules: RoutesStatus | undefined): CountedFlows {
  const groups: string[] = [];
  for (const { name, first_rule: first, rules: count } of rules?.groups ?? []) {
    for (let rule = first; rule < first + count; rule++) groups[rule] = name;
  }
  const routes = new Map<string, RouteFlows>();
  const outbounds = new Map<string, number>();
  let earlier = 0;
  for (const { view, upRate, downRate, closedAt } of flows) {
    if (closedAt !== undefined) continue;
    outbounds.set(view.outbound, (outbounds.get(view.outbound) ?? 0) + 1);
    if (view.rule !== null && view.plane_epoch < (rules?.rules_since ?? 0)) earlier++;
    else {
      const name = view.rule === null ? DEFAULT_GROUP : groups[view.rule];
      if (name === undefined) continue; // a rule of the configuration itself, in no group
      const counted = routes.get(name) ?? { flows: 0, upRate: 0, downRate: 0 };
      counted.flows++;
      counted.upRate += upRate;
      counted.downRate += downRate;
      routes.set(name, counted);
    }
  }
  return { routes, outbounds, earlier };
}

/** Maximum number of balancer members that are shown. */
const MAX_MEMBERS = 16;

/**
 * The topic `routes`, with the parameters `find`, `first` and `count`: the default route and a window of the groups.
 */
export function routesTopic(
  context: DashboardContext,
  state: ConfigState,
  picks: PickState,
): PageTopic {
  const { monitor } = context;
  return {
    name: 'routes',
    hold: () => state.watched.hold(),
    onChange: (listener) => state.onChange(listener),
    view(parameters) {
      const wanted = new Parameters(parameters);
      const find = wanted.text('find', '').toLowerCase();
      const { first, count } = wanted.window();
      const { routes, status, socket } = monitor;
      const rules = socket.kind === 'reached' ? status?.value.routes : undefined;
      const view = routes?.value.view;
      const counted = countFlows(monitor.flows.values(), rules);
      const all = view ? resolveRoutes(view) : [];
      const matching = all
        .map((route, id) => ({ route, id }))
        .filter(({ route }) => matches(route, find));
      const from = Math.min(first, Math.max(0, matching.length - 1));
      const sources = { view, counted, hasRules: rules !== undefined, context };
      if (routes) picks.see(routes.value.etag, routes.value.view);
      return jsonOf({
        etag: routes?.value.etag ?? null,
        at: routes?.at ?? null,
        total: matching.length,
        first: from,
        rows: matching.slice(from, from + count).map(({ route, id }) => rowOf(route, id, sources)),
        all: Math.max(0, all.length - 1),
        noCounts: rules || socket.kind === 'reached' ? null : socket.kind,
        earlier: counted.earlier,
        unread: monitor.routesError?.message ?? null,
        unloaded: picks.unloaded ?? null,
        readOnly: context.readOnly,
      } satisfies RoutesView);
    },
  };
}

const matches = ({ name, chain, target }: ResolvedRoute, find: string): boolean =>
  [name, target ?? '', ...chain].some((text) => text.toLowerCase().includes(find));

interface RowSources {
  readonly view: RouteView | undefined;
  readonly counted: CountedFlows;
  readonly hasRules: boolean;
  readonly context: DashboardContext;
}

function rowOf(
  { name, chain, target }: ResolvedRoute,
  id: number,
  { view, counted, hasRules, context }: RowSources,
): RouteRow {
  const group = view?.groups[id - 1];
  const isDefault = group === undefined;
  const flows = counted.routes.get(isDefault ? DEFAULT_GROUP : name);
  return {
    id,
    name,
    pick: (isDefault ? view?.default.pick : group.pick) ?? null,
    inherit: group?.inherit ?? null,
    chain,
    target,
    kind: kindOf(view, target),
    members: membersOf(context, target),
    flows: isDefault || hasRules ? (flows?.flows ?? 0) : null,
    upRate: flows?.upRate ?? 0,
    downRate: flows?.downRate ?? 0,
  };
}

const kindOf = (
  view: RouteView | undefined,
  target: string | null,
): RouteTargetView['kind'] | null =>
  view?.targets.find(({ name }) => name === target)?.kind ?? null;

function membersOf({ monitor }: DashboardContext, target: string | null): RouteRow['members'] {
  const balancer = monitor.status?.value.balancers.find(({ tag }) => tag === target);
  return (balancer?.members ?? [])
    .slice(0, MAX_MEMBERS)
    .map(({ outbound, health }) => ({ name: outbound, health }));
}

/** Names that can be picked and contain a text, in any case; each with its index among all. */
export const targetsWith = (
  { routes }: Pick<Monitor, 'routes'>,
  find: string,
): readonly (RouteTargetView & { readonly id: number })[] => {
  const word = find.toLowerCase();
  return (routes?.value.view.targets ?? [])
    .map((target, id) => ({ ...target, id }))
    .filter(({ name }) => name.toLowerCase().includes(word));
};

/**
 * The topic `route-targets`, with the parameters `find`, `first` and `count`: a window of the names that can be picked,
 * with the open flows and the last probe of each. Probes need the facts of the file, which is held meanwhile.
 */
export function routeTargetsTopic(
  { monitor, socket }: DashboardContext,
  file: FileModel,
  probes: NodeProbes,
): PageTopic {
  return {
    name: 'route-targets',
    hold: () => file.hold(),
    onChange: (listener) => probes.onChange(listener),
    view(parameters) {
      const wanted = new Parameters(parameters);
      const find = wanted.text('find', '');
      const { first, count } = wanted.window();
      const matching = targetsWith(monitor, find);
      const from = Math.min(first, Math.max(0, matching.length - 1));
      const { outbounds } = countFlows(monitor.flows.values(), undefined);
      const down = membersDown(monitor);
      const flowsOn = (tags: readonly string[]): number =>
        tags.reduce((sum, tag) => sum + (outbounds.get(tag) ?? 0), 0);
      const rowOf = ({ id, name, kind }: (typeof matching)[number]): TargetRow => {
        const members = kind === 'balancer' ? membersOfBalancer(monitor, name) : undefined;
        // Members are tried in order, so new flows use the first one that is available.
        const next = members ? members.find(({ health }) => health !== 'unavailable') : undefined;
        const probed = members ? next?.outbound : name;
        return {
          id,
          name,
          kind,
          flows: flowsOn(members?.map(({ outbound }) => outbound) ?? [name]),
          isDown: members ? members.length > 0 && !next : down.has(name),
          probe: (probed === undefined ? undefined : probes.of(probed)) ?? null,
          probed: members ? (probed ?? null) : null,
        };
      };
      return jsonOf({
        find,
        total: matching.length,
        first: from,
        rows: matching.slice(from, from + count).map(rowOf),
        probing: { ...probes.progress, isPossible: socket !== undefined },
      } satisfies RouteTargetsView);
    },
  };
}

const membersOfBalancer = ({ status }: Monitor, balancer: string): readonly MemberStatus[] =>
  status?.value.balancers.find(({ tag }) => tag === balancer)?.members ?? [];

/** The members whose last probe by a balancer has failed. */
const membersDown = ({ status }: Monitor): ReadonlySet<string> =>
  new Set(
    status?.value.balancers
      .flatMap(({ members }) => members)
      .filter(({ health }) => health === 'unavailable')
      .map(({ outbound }) => outbound),
  );
