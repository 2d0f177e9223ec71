import { DEFAULT_GROUP } from '@weir/config';
import type { RouteTargetView, RouteView } from '@weir/config/route-view';
import type { ConfigState } from '../config/config-state.ts';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { jsonOf } from '../json-of.ts';
import { Parameters } from '../parameters.ts';
import { resolveRoutes, type ResolvedRoute } from './resolve-routes.ts';
import { countFlows, type CountedFlows } from './route-flows.ts';
import type { PickState } from './pick-state.ts';
import type { RouteRow, RoutesView } from './view.ts';

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
