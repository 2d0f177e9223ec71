import type { FlowView } from '../api/views.ts';

/** Facts about the routes of a running Weir that the API does not report. */
export interface RouteFacts {
  /** Epoch of the first plane for which the rule indexes in `groups` are valid. */
  readonly rulesSince: number;
  readonly groups: readonly {
    readonly name: string;
    /** Index of the group's first rule. */
    readonly firstRule: number;
    /** Number of the group's rules, which are consecutive. */
    readonly rules: number;
  }[];
  /** Tags of member outbounds, by the tag of their balancer. */
  readonly balancers: ReadonlyMap<string, readonly string[]>;
}

/** A switch of a route from one target to another. */
export interface RouteSwitch {
  /** Name of the group; `undefined` for the default route. */
  readonly group: string | undefined;
  readonly from: string;
  readonly to: string;
}

/**
 * The flows of a route that were opened on its old target and would not be opened there again. Flows that were routed
 * by other rules than those in force belong to no known group, and are left out.
 *
 * @returns `undefined` if the group is not in `facts`
 */
export function staleFlows(
  flows: readonly FlowView[],
  { group, from, to }: RouteSwitch,
  facts: RouteFacts,
): readonly FlowView[] | undefined {
  const outboundsOf = (target: string): ReadonlySet<string> =>
    new Set(facts.balancers.get(target) ?? [target]);
  const left = outboundsOf(from).difference(outboundsOf(to));
  const onOldTarget = flows.filter(({ outbound }) => left.has(outbound));
  if (group === undefined) return onOldTarget.filter(({ rule }) => rule === null);
  const range = facts.groups.find(({ name }) => name === group);
  if (!range) return undefined;
  const end = range.firstRule + range.rules;
  return onOldTarget.filter(
    ({ rule, plane_epoch: epoch }) =>
      rule !== null && rule >= range.firstRule && rule < end && epoch >= facts.rulesSince,
  );
}
