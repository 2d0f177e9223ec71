import type { FlowView } from '@weir/server/api/views';
import type { Inherit } from '@weir/config/documents';
import { groupOfRule, type ClashFacts, GLOBAL, type Named } from './facts.ts';
import type { BalancerStatus } from '@weir/server/control';
import { formsOf } from '@weir/proxy/protocols';
import type { ClashProxy } from '../contract.ts';
import type { DelayHistory } from '../delays.ts';

/** Maximum number of groups that inherit from one another; more would be a cycle. */
const LONGEST_CHAIN = 64;

/** A route: a group by name, or the default route. */
type ClashRoute = { readonly group: string } | 'default';

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
function inheritedName({ names }: ClashFacts, inherit: Inherit): string {
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

/** Default URL of health checks and tests: a small response without a body, served from many places. */
export const TEST_URL = 'http://cp.cloudflare.com/generate_204';

/** All proxies by name, as in `GET /proxies`: groups first. */
export function clashProxies(
  facts: ClashFacts,
  delays: DelayHistory,
): Readonly<Record<string, ClashProxy>> {
  const all = Array.from(facts.names.names(), ([name, named]) => {
    return [name, clashProxy(facts, delays, name, named)] as const;
  });
  return Object.fromEntries(all);
}

export function clashProxy(
  facts: ClashFacts,
  delays: DelayHistory,
  name: string,
  named: Named,
): ClashProxy {
  const common = commonOf(facts, delays, name, named);
  switch (named.kind) {
    case 'global':
      return { ...common, ...selector(globalMembers(facts), memberOfRoute(facts, 'default')) };
    case 'default':
      return { ...common, ...selectorOf(facts, 'default') };
    case 'group':
      return { ...common, ...selectorOf(facts, { group: named.name }) };
    case 'target': {
      const balancer = facts.balancers.get(named.name);
      return balancer ? { ...common, ...balancerFields(facts, balancer) } : common;
    }
    default:
      return named satisfies never;
  }
}

/** Whether a name is a group with members for clients. */
export const isGroup = ({ balancers }: ClashFacts, named: Named): boolean =>
  named.kind !== 'target' || balancers.has(named.name);

type ClashGroupFields = Pick<ClashProxy, 'all' | 'now' | 'hidden' | 'icon' | 'testUrl'>;

function selectorOf(facts: ClashFacts, route: ClashRoute): ClashGroupFields {
  const group = route === 'default' ? undefined : facts.groups.get(route.group);
  const { targets } = facts;
  // An inherited target is listed as a member, so that `now` is among the members.
  const inherited = group && group.pick === null ? inheritedName(facts, group.inherit) : undefined;
  const isListed = inherited === undefined || targets.includes(inherited);
  return selector(isListed ? targets : [inherited, ...targets], memberOfRoute(facts, route));
}

const selector = (all: readonly string[], now: string): ClashGroupFields => ({
  all,
  now,
  hidden: false,
  icon: '',
  testUrl: '',
});

/** The members of GLOBAL, whose order dashboards use for all groups. */
const globalMembers = ({ names }: ClashFacts): readonly string[] =>
  Array.from(names.names(), ([name]) => name).filter((name) => name !== GLOBAL);

function balancerFields(
  { names }: ClashFacts,
  { strategy, members }: BalancerStatus,
): ClashGroupFields & Pick<ClashProxy, 'expectedStatus' | 'fixed'> {
  const all = members.map(({ outbound }) => names.target(outbound));
  const common = { all, hidden: false, icon: '', testUrl: TEST_URL, expectedStatus: '*' };
  if (strategy === 'round_robin') return common;
  // Without a healthy member Weir tries the first one, which is then `now`.
  const chosen = members.find(({ health }) => health !== 'unavailable') ?? members[0];
  return { ...common, now: chosen ? names.target(chosen.outbound) : '', fixed: '' };
}

function commonOf(
  facts: ClashFacts,
  delays: DelayHistory,
  name: string,
  named: Named,
): Omit<ClashProxy, keyof ClashGroupFields> {
  const protocol = named.kind === 'target' ? facts.outbounds.get(named.name) : undefined;
  const { alive, history, extra } = delays.of(name);
  return {
    name,
    type: typeOf(facts, named),
    alive: alive && !(named.kind === 'target' && facts.down.has(named.name)),
    history,
    extra,
    udp: formsOf(protocol ?? '')?.clashApi?.streamsOnly !== true,
    uot: false,
    xudp: false,
    tfo: false,
    mptcp: false,
    smux: false,
    interface: '',
    'routing-mark': 0,
    'provider-name': facts.providers.get(named.kind === 'target' ? named.name : '') ?? '',
    'dialer-proxy': '',
  };
}

function typeOf({ balancers, outbounds }: ClashFacts, named: Named): string {
  if (named.kind !== 'target') return 'Selector';
  const balancer = balancers.get(named.name);
  if (balancer) return balancer.strategy === 'failover' ? 'Fallback' : 'LoadBalance';
  return formsOf(outbounds.get(named.name) ?? '')?.clashApi?.outbound ?? 'Unknown';
}
