import type { Located } from '@weir/proxy/schema';
import {
  type ConfigFile,
  inheritOf,
  placeOfInherit,
  type RouteGroup,
  type SubscribeFile,
} from './sources/config-file.ts';
import type { OutboundSpec } from '@weir/proxy/spec';

/** A name of an outbound, node, balancer or built-in, with its place. */
export type RouteTarget = Located<string>;

/** The reason why a group has no target: no default target, a cycle, or an unknown group. */
export type DeadEnd =
  | { readonly problem: 'no_default' }
  | { readonly problem: 'cycle' }
  | { readonly problem: 'no_group'; readonly group: string };

/** The default route's key among the picks; no group may have this name. */
export const DEFAULT_GROUP = 'default';

const NO_PICKS: ReadonlyMap<string, RouteTarget> = new Map();

/** Returns the picks of the route groups and of the default route. */
export const picksOf = (config: ConfigFile): ReadonlyMap<string, RouteTarget> =>
  config.subscribe?.value.routes ?? NO_PICKS;

/** Returns the default route named in the files; a pick in `[subscribe.routes]` takes precedence. */
export const defaultPick = (config: ConfigFile): RouteTarget | undefined =>
  picksOf(config).get(DEFAULT_GROUP) ?? config.route?.default;

/** Returns the target of flows that no rule and no group matches; `undefined` without any outbound. */
export const defaultTarget = (
  config: ConfigFile,
  subscribe: SubscribeFile | undefined,
): RouteTarget | undefined =>
  defaultPick(config) ?? config.outbound[0]?.value.tag ?? subscribe?.proxyServer[0]?.value.name;

/**
 * Returns the target of each route group, in file order: its pick, otherwise the one that it inherits,
 * directly or through other groups, and finally the default target. If several groups have one
 * name, the first is inherited from. Takes time linear in the number of groups.
 */
export function groupTargets(
  config: ConfigFile,
  subscribe: SubscribeFile,
): readonly (RouteTarget | DeadEnd)[] {
  const picks = picksOf(config);
  const fallback = defaultTarget(config, subscribe);
  const byName = new Map<string, RouteGroup>();
  for (const group of subscribe.routeGroup.toReversed()) byName.set(group.name.value, group);
  const known = new Map<RouteGroup, RouteTarget | DeadEnd>();

  /** Returns the result of one step of inheritance: a target, a dead end, or another group. */
  const step = (group: RouteGroup): RouteTarget | DeadEnd | RouteGroup => {
    const pick = picks.get(group.name.value);
    if (pick) return pick;
    const inherit = inheritOf(group);
    if (inherit === 'default') return fallback ?? { problem: 'no_default' };
    if (typeof inherit === 'string') return { value: inherit, span: placeOfInherit(group) };
    return byName.get(inherit.group) ?? { problem: 'no_group', group: inherit.group };
  };

  const follow = (from: RouteGroup): RouteTarget | DeadEnd => {
    const way = new Set<RouteGroup>();
    let at: RouteTarget | DeadEnd | RouteGroup = from;
    while (isGroup(at) && !known.has(at) && !way.has(at)) {
      way.add(at);
      at = step(at);
    }
    const end: RouteTarget | DeadEnd = isGroup(at) ? (known.get(at) ?? { problem: 'cycle' }) : at;
    for (const passed of way) known.set(passed, end);
    return end;
  };
  return subscribe.routeGroup.map(follow);
}

const isGroup = (at: RouteTarget | DeadEnd | RouteGroup): at is RouteGroup => 'name' in at;

const builtin = (tag: string, protocol: string): OutboundSpec => ({
  tag,
  protocol,
  server: undefined,
  port: undefined,
  stream: undefined,
  addressFamily: 'auto',
  settings: undefined,
});

/** The outbounds that every configuration has, unless it uses their tags. */
const BUILTIN_OUTBOUNDS: readonly OutboundSpec[] = [
  builtin('direct', 'freedom'),
  builtin('blackhole', 'blackhole'),
];

/** Whether a tag is that of a built-in outbound. */
export const isBuiltinTag = (tag: string): boolean =>
  BUILTIN_OUTBOUNDS.some((outbound) => outbound.tag === tag);

/** Returns the built-in outbounds among the tags that a route names, without tags that the file defines. */
export function builtinOutbounds(
  named: ReadonlySet<string>,
  carried: ReadonlySet<string>,
): readonly OutboundSpec[] {
  return BUILTIN_OUTBOUNDS.filter(({ tag }) => named.has(tag) && !carried.has(tag));
}
