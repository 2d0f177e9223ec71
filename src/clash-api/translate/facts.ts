import type { BalancerStatus, RunningStatus } from '../../app/control/running-status.ts';
import type { RouteView } from '../../config/route-view.ts';
import type { Spec } from '../../spec.ts';
import type { Userinfo } from '../../subscribe/answer/userinfo.ts';
import { printable } from '../../printable.ts';
import { ClashNames } from './names.ts';

/** A subscription with its nodes. */
export interface ClashSubscription {
  readonly name: string;
  /** The names of its nodes. */
  readonly nodes: readonly string[];
  /** Unix milliseconds. */
  readonly updated: number | undefined;
  readonly userinfo: Userinfo | undefined;
}

/** The data that views are built from, read at one time. */
export interface ClashFacts {
  readonly routes: RouteView;
  readonly names: ClashNames;
  /** The configuration on disk; `undefined` if it cannot be read. */
  readonly spec: Spec | undefined;
  /** `undefined` without a control socket. */
  readonly status: RunningStatus | undefined;
  /** Balancers by tag. */
  readonly balancers: ReadonlyMap<string, BalancerStatus>;
  /** Protocols of the file's outbounds, by tag. */
  readonly outbounds: ReadonlyMap<string, string>;
  /** Protocols of the running process's inbounds, by tag. */
  readonly inbounds: ReadonlyMap<string, string>;
  /** Route groups by name, the first of each name. */
  readonly groups: ReadonlyMap<string, RouteView['groups'][number]>;
  /** The controller's names of all targets. */
  readonly targets: readonly string[];
  /** Tags that the health checks found down: members, and balancers of which all members are down. */
  readonly down: ReadonlySet<string>;
  readonly subscriptions: readonly ClashSubscription[];
  /** Names of subscriptions by their nodes. */
  readonly providers: ReadonlyMap<string, string>;
}

/** The controller's name of a subscription. */
export const providerName = (name: string): string => printable(name);

/** The data from which facts are derived. */
export interface ClashFactSources {
  readonly routes: RouteView;
  readonly spec: Spec | undefined;
  readonly status: RunningStatus | undefined;
  readonly subscriptions: readonly ClashSubscription[];
}

export function clashFacts({ routes, spec, status, subscriptions }: ClashFactSources): ClashFacts {
  const balancers = status?.balancers ?? spec?.balancers.map(unprobed) ?? [];
  const names = new ClashNames(routes);
  const inbounds = status?.inbounds ?? spec?.inbounds ?? [];
  return {
    routes,
    spec,
    status,
    names,
    targets: [...new Set(routes.targets.map(({ name }) => names.target(name)))],
    down: downTags(balancers),
    balancers: new Map(balancers.map((balancer) => [balancer.tag, balancer])),
    outbounds: new Map([
      // A built-in outbound is in the file only if a route names it.
      ['direct', 'freedom'],
      ['blackhole', 'blackhole'],
      ...(spec?.outbounds ?? []).map(({ tag, protocol }) => [tag, protocol] as const),
    ]),
    inbounds: new Map(inbounds.map(({ tag, protocol }) => [tag, protocol])),
    groups: new Map(routes.groups.toReversed().map((group) => [group.name, group])),
    subscriptions,
    providers: new Map(
      subscriptions.flatMap(({ name, nodes }) =>
        nodes.map((node) => [node, providerName(name)] as const),
      ),
    ),
  };
}

function downTags(balancers: readonly BalancerStatus[]): ReadonlySet<string> {
  const down = new Set<string>();
  for (const { tag, members } of balancers) {
    const bad = members.filter(({ health }) => health === 'unavailable');
    for (const { outbound } of bad) down.add(outbound);
    if (bad.length === members.length) down.add(tag);
  }
  return down;
}

const unprobed = ({
  tag,
  strategy,
  outbounds,
}: Pick<Spec['balancers'][number], 'tag' | 'strategy' | 'outbounds'>): BalancerStatus => ({
  tag,
  strategy,
  members: [...new Set(outbounds)].map((outbound) => ({
    outbound,
    health: 'unknown',
    probed_at: null,
    error: null,
  })),
});

/** The route group of a rule; `undefined` for a rule of the configuration itself. */
export function groupOfRule(
  { status, spec }: Pick<ClashFacts, 'status' | 'spec'>,
  rule: number,
): string | undefined {
  const groups =
    status?.routes.groups.map(({ name, first_rule: first, rules }) => ({ name, first, rules })) ??
    spec?.route.groups?.map(({ name, firstRule: first, rules }) => ({ name, first, rules }));
  return groups?.find(({ first, rules }) => rule >= first && rule < first + rules)?.name;
}
