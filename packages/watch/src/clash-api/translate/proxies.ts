import type { BalancerStatus } from '@weir/server/control';
import { formsOf } from '@weir/proxy/protocols';
import type { ClashProxy } from '../contract.ts';
import type { DelayHistory } from '../delays/history.ts';
import { type ClashRoute, inheritedName, memberOfRoute } from './chains.ts';
import { type ClashFacts, GLOBAL, type Named } from './facts.ts';

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
