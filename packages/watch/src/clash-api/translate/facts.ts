import type { BalancerStatus, RunningStatus } from '@weir/server/control';
import type { RouteView } from '@weir/config/route-view';
import { printable } from '@weir/base/printable';
import type { Spec } from '@weir/proxy/spec';
import type { Userinfo } from '@weir/nodes/subscribe';

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

/** The meaning of a name on the controller. */
export type Named =
  /** mihomo's group of all targets and groups; its pick is that of the default route. */
  | { readonly kind: 'global' }
  | { readonly kind: 'default' }
  | { readonly kind: 'group'; readonly name: string }
  /** An outbound, a node, a balancer or a built-in outbound. */
  | { readonly kind: 'target'; readonly name: string };

export const GLOBAL = 'GLOBAL';

/** Name of the group for the default route, as in the API. */
const DEFAULT = 'default';

/**
 * The names of groups and targets on the controller, which has one namespace for both where a configuration has two: a
 * target with the name of a group gets the suffix ` (outbound)`.
 */
export class ClashNames {
  readonly #named = new Map<string, Named>();
  readonly #groups = new Map<string, string>();
  readonly #targets = new Map<string, string>();

  constructor({ groups, targets }: Pick<RouteView, 'groups' | 'targets'>) {
    this.#claim(GLOBAL, 'group', { kind: 'global' });
    this.#claim(DEFAULT, 'group', { kind: 'default' });
    for (const { name } of groups) {
      // Of two groups with the same name the configuration uses the first.
      if (this.#groups.has(name)) continue;
      this.#groups.set(name, this.#claim(name, 'group', { kind: 'group', name }));
    }
    for (const { name } of targets) {
      if (this.#targets.has(name)) continue;
      this.#targets.set(name, this.#claim(name, 'outbound', { kind: 'target', name }));
    }
  }

  /** The meaning of a client's name; `undefined` for an unknown one. */
  find(name: string): Named | undefined {
    return this.#named.get(name);
  }

  /** All names, groups first. */
  names(): Iterable<readonly [string, Named]> {
    return this.#named;
  }

  get default(): string {
    return DEFAULT;
  }

  group(name: string): string {
    return this.#groups.get(name) ?? printable(name);
  }

  target(name: string): string {
    return this.#targets.get(name) ?? printable(name);
  }

  #claim(name: string, suffix: string, named: Named): string {
    let free = printable(name);
    while (this.#named.has(free)) free += ` (${suffix})`;
    this.#named.set(free, named);
    return free;
  }
}
