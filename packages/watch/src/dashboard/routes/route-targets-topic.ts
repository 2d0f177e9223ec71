import type { MemberStatus } from '@weir/server/control';
import type { RouteTargetView } from '@weir/config/route-view';
import type { Monitor } from '@weir/client/monitor';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { jsonOf } from '../json-of.ts';
import type { NodeProbes } from '../nodes/node-probes.ts';
import { Parameters } from '../parameters.ts';
import type { FileModel } from '../reader/file-model.ts';
import { countFlows } from './route-flows.ts';
import type { RouteTargetsView, TargetRow } from './view.ts';

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
        const members = kind === 'balancer' ? membersOf(monitor, name) : undefined;
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

const membersOf = ({ status }: Monitor, balancer: string): readonly MemberStatus[] =>
  status?.value.balancers.find(({ tag }) => tag === balancer)?.members ?? [];

/** The members whose last probe by a balancer has failed. */
const membersDown = ({ status }: Monitor): ReadonlySet<string> =>
  new Set(
    status?.value.balancers
      .flatMap(({ members }) => members)
      .filter(({ health }) => health === 'unavailable')
      .map(({ outbound }) => outbound),
  );
