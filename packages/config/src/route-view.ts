import {
  type ConfigFile,
  balancerTags,
  inheritOf,
  type Inherit,
  type SubscribeFile,
} from './sources/config-file.ts';
import { defaultPick, defaultTarget, groupTargets, picksOf } from './route-targets.ts';

/**
 * The routes as the files describe them, even if that configuration would be rejected. A pick is
 * the name in a file, a target is the outbound or balancer that traffic uses; null means none.
 */
export interface RouteView {
  readonly default: { readonly pick: string | null; readonly target: string | null };
  /** The groups in the order in which they are matched. */
  readonly groups: readonly RouteGroupView[];
  /** All names that can be picked. */
  readonly targets: readonly RouteTargetView[];
}

export interface RouteGroupView {
  readonly name: string;
  readonly pick: string | null;
  readonly inherit: Inherit;
  readonly target: string | null;
}

export interface RouteTargetView {
  readonly name: string;
  readonly kind: 'node' | 'outbound' | 'balancer' | 'direct' | 'blackhole';
}

/**
 * Describes the routes of two files as they are written, unmerged.
 *
 * @param subscribe the file that `[subscribe]` names; without that table it is ignored
 */
export function routeView(config: ConfigFile, subscribe: SubscribeFile | undefined): RouteView {
  const provided = config.subscribe ? subscribe : undefined;
  return {
    default: {
      pick: defaultPick(config)?.value ?? null,
      target: defaultTarget(config, provided)?.value ?? null,
    },
    groups: provided ? groupViews(config, provided) : [],
    targets: targetViews(config, provided),
  };
}

function groupViews(config: ConfigFile, subscribe: SubscribeFile): readonly RouteGroupView[] {
  const picks = picksOf(config);
  const targets = groupTargets(config, subscribe);
  return subscribe.routeGroup.map((group, index) => {
    const name = group.name.value;
    const target = targets[index];
    return {
      name,
      pick: picks.get(name)?.value ?? null,
      inherit: inheritOf(group),
      target: target && 'value' in target ? target.value : null,
    };
  });
}

function targetViews(
  config: ConfigFile,
  subscribe: SubscribeFile | undefined,
): readonly RouteTargetView[] {
  const views: RouteTargetView[] = [
    ...config.outbound.map(({ value }) => ({ name: value.tag.value, kind: 'outbound' as const })),
    ...balancerTags(config).map((name) => ({ name, kind: 'balancer' as const })),
    ...(subscribe?.proxyServer ?? []).map(({ value }) => ({
      name: value.name.value,
      kind: 'node' as const,
    })),
  ];
  const names = new Set(views.map(({ name }) => name));
  const builtins = (['direct', 'blackhole'] as const).filter((name) => !names.has(name));
  return [...views, ...builtins.map((name) => ({ name, kind: name }))];
}
