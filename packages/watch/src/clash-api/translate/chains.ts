import type { FlowView } from '@weir/server/api/views';
import type { Inherit } from '@weir/config/documents';
import { groupOfRule, type ClashFacts } from './facts.ts';

/** Maximum number of groups that inherit from one another; more would be a cycle. */
const LONGEST_CHAIN = 64;

/** A route: a group by name, or the default route. */
export type ClashRoute = { readonly group: string } | 'default';

/**
 * The names of a route and of those that it inherits from, and the target at the end; the target is `undefined` if
 * there is none.
 */
function wayOf(
  facts: ClashFacts,
  route: ClashRoute,
): { readonly groups: readonly string[]; readonly target: string | undefined } {
  const { names, routes } = facts;
  const groups: string[] = [];
  let at: ClashRoute | Inherit = route;
  while (groups.length < LONGEST_CHAIN) {
    if (at === 'direct' || at === 'blackhole') return { groups, target: at };
    if (at === 'default') {
      groups.push(names.default);
      return { groups, target: routes.default.target ?? undefined };
    }
    const group = facts.groups.get(at.group);
    if (!group) break;
    groups.push(names.group(at.group));
    if (group.pick !== null) return { groups, target: group.pick };
    at = group.inherit;
  }
  return { groups, target: undefined };
}

/** The target of a route; `undefined` if there is none. */
export const targetOfRoute = (facts: ClashFacts, route: ClashRoute): string | undefined =>
  wayOf(facts, route).target;

/** The chosen member of a route, among its `all`: a target, or the group that it inherits from. */
export function memberOfRoute(facts: ClashFacts, route: ClashRoute): string {
  const { names, routes } = facts;
  if (route === 'default') return nameOf(facts, routes.default.target);
  const group = facts.groups.get(route.group);
  if (!group) return '';
  if (group.pick !== null) return names.target(group.pick);
  return inheritedName(facts, group.inherit);
}

/** The name of the member that a group without a pick inherits. */
export function inheritedName({ names }: ClashFacts, inherit: Inherit): string {
  if (inherit === 'default') return names.default;
  return typeof inherit === 'string' ? names.target(inherit) : names.group(inherit.group);
}

const nameOf = ({ names }: ClashFacts, target: string | null): string =>
  target === null ? '' : names.target(target);

/** Whether the rule index of a flow refers to the rules in the facts. */
export const isRuleKnown = ({ status }: ClashFacts, flow: Pick<FlowView, 'plane_epoch'>): boolean =>
  flow.plane_epoch >= (status?.routes.rules_since ?? 0);

/**
 * The chain of a flow in mihomo's order: the outbound, the balancer that chose it, then the groups from the innermost
 * outwards. Picks made since the flow was opened are left out.
 */
export function chainOf(facts: ClashFacts, flow: FlowView): readonly string[] {
  const { names, balancers } = facts;
  if (flow.outbound === '') return [DNS_SERVICE];
  const leaf = names.target(flow.outbound);
  const { groups, target } = routeOfFlow(facts, flow);
  const balancer = target === undefined ? undefined : balancers.get(target);
  const isMember = balancer?.members.some(({ outbound }) => outbound === flow.outbound) === true;
  return [
    leaf,
    ...(balancer && isMember ? [names.target(balancer.tag)] : []),
    ...groups.toReversed(),
  ];
}

/** Name of the outbound of queries answered by Weir's own DNS service, which have none. */
const DNS_SERVICE = 'dns';

function routeOfFlow(
  facts: ClashFacts,
  flow: FlowView,
): { readonly groups: readonly string[]; readonly target: string | undefined } {
  const { rule } = flow;
  if (rule === null) return wayOf(facts, 'default');
  if (!isRuleKnown(facts, flow)) return { groups: [], target: undefined };
  const group = groupOfRule(facts, rule);
  if (group !== undefined) return wayOf(facts, { group });
  return { groups: [], target: facts.spec?.route.rules[rule]?.outbound };
}
