import { isDeepStrictEqual } from 'node:util';
import type { BalancerSpec, InboundSpec, OutboundSpec, Spec } from '../spec.ts';
import { type Same, exitsNamedBy, isSameRoute } from './compare.ts';
import type { InboundFacts } from './inbound-facts.ts';
import type { AppliedReport } from './reload-report.ts';

/** What the plan needs to know of what runs. */
export interface Running {
  /** `undefined` before the first configuration was applied. */
  readonly spec: Spec | undefined;
  /** The newest version that each outbound tag has ever had, removed tags included. */
  readonly versions: ReadonlyMap<string, number>;
}

export interface OutboundStep {
  readonly action: 'build' | 'reuse';
  readonly spec: OutboundSpec;
  readonly version: number;
}

export interface BalancerStep {
  readonly action: 'build' | 'reuse';
  readonly spec: BalancerSpec;
}

export interface UserSetStep {
  readonly action: 'build' | 'reuse';
  readonly tag: string;
}

/**
 * What happens to an inbound: everything is new, nothing is, the handler behind its listener is, its
 * address is, or its listener at the same address.
 */
export type InboundStep =
  | { readonly action: 'build' | 'reuse' | 'swap' | 'rebind'; readonly spec: InboundSpec }
  | {
      readonly action: 'restart';
      readonly spec: InboundSpec;
      /** Why it cannot happen while sessions are live. */
      readonly reason: string;
    };

/** How to get from what runs to what is wanted; made before anything is touched. */
export interface Plan {
  readonly dns: 'build' | 'reuse';
  readonly outbounds: readonly OutboundStep[];
  /** Versions that were replaced or removed: they take no new flow and live until their last ends. */
  readonly drained: readonly { readonly tag: string; readonly version: number }[];
  readonly balancers: readonly BalancerStep[];
  readonly route: 'build' | 'reuse';
  readonly userSets: readonly UserSetStep[];
  readonly inbounds: readonly InboundStep[];
  readonly removed: readonly string[];
}

/**
 * Compares what runs with what is wanted, resource by resource. Pure.
 *
 * @param same compares; given where long lists have been compared already
 */
export function planReload(
  running: Running,
  wanted: Spec,
  facts: InboundFacts,
  same: Same = isDeepStrictEqual,
): Plan {
  const old = running.spec;
  const outbounds = planOutbounds(running, wanted, same);
  const keptOutbounds = tagsReused(outbounds);
  const balancers = planBalancers(old, wanted, keptOutbounds);
  const kept = keptOutbounds.union(tagsReused(balancers));
  const drained = (old?.outbounds ?? [])
    .filter(({ tag }) => !keptOutbounds.has(tag))
    .map(({ tag }) => ({ tag, version: running.versions.get(tag) ?? 0 }));
  const route =
    old &&
    isSameRoute(old.route, wanted.route) &&
    [...exitsNamedBy(wanted.route)].every((tag) => kept.has(tag))
      ? 'reuse'
      : 'build';
  const oldInbounds = byTag(old?.inbounds ?? []);
  const inbounds = wanted.inbounds.map((spec) =>
    planInbound(oldInbounds.get(spec.tag), spec, facts, same),
  );
  const wantedTags = new Set(wanted.inbounds.map(({ tag }) => tag));
  return {
    dns: old && isDeepStrictEqual(old.dns, wanted.dns) ? 'reuse' : 'build',
    outbounds,
    drained,
    balancers,
    route,
    userSets: planUserSets(oldInbounds, wanted.inbounds, facts, same),
    inbounds,
    removed: [...oldInbounds.keys()].filter((tag) => !wantedTags.has(tag)),
  };
}

/** What applying a plan is reported as. */
export function reportOf(plan: Plan): AppliedReport {
  const named = [
    { action: plan.dns, name: 'dns' },
    ...plan.outbounds.map(({ action, spec, version }) => ({
      action,
      name: `outbound ${spec.tag}@v${version}`,
    })),
    ...plan.balancers.map(({ action, spec }) => ({ action, name: `balancer ${spec.tag}` })),
    { action: plan.route, name: 'route' },
    ...plan.userSets.map(({ action, tag }) => ({ action, name: `user set ${tag}` })),
    ...plan.inbounds.map(({ action, spec }) => ({ action, name: `inbound ${spec.tag}` })),
  ];
  const names = (wanted: string): string[] =>
    named.filter(({ action }) => action === wanted).map(({ name }) => name);
  const tags = (wanted: InboundStep['action']): string[] =>
    plan.inbounds.filter(({ action }) => action === wanted).map(({ spec }) => spec.tag);
  return {
    status: 'applied',
    built: names('build'),
    swapped: tags('swap'),
    drained: plan.drained.map(({ tag, version }) => `${tag}@v${version}`),
    rebound: tags('rebind'),
    restarted: tags('restart'),
    removed: plan.removed,
    reused: names('reuse'),
  };
}

const tagsReused = (steps: readonly (OutboundStep | BalancerStep)[]): Set<string> =>
  new Set(steps.filter(({ action }) => action === 'reuse').map(({ spec }) => spec.tag));

const byTag = <T extends { readonly tag: string }>(items: readonly T[]): Map<string, T> =>
  new Map(items.map((item) => [item.tag, item]));

function planOutbounds({ spec, versions }: Running, wanted: Spec, same: Same): OutboundStep[] {
  const old = byTag(spec?.outbounds ?? []);
  return wanted.outbounds.map((outbound) => {
    const version = versions.get(outbound.tag) ?? 0;
    return same(old.get(outbound.tag), outbound)
      ? { action: 'reuse', spec: outbound, version }
      : { action: 'build', spec: outbound, version: version + 1 };
  });
}

function planBalancers(
  old: Spec | undefined,
  wanted: Spec,
  keptOutbounds: ReadonlySet<string>,
): BalancerStep[] {
  const before = byTag(old?.balancers ?? []);
  return wanted.balancers.map((spec) => {
    const same =
      isDeepStrictEqual(before.get(spec.tag), spec) &&
      spec.outbounds.every((member) => keptOutbounds.has(member));
    return { action: same ? 'reuse' : 'build', spec };
  });
}

function planUserSets(
  old: ReadonlyMap<string, InboundSpec>,
  wanted: readonly InboundSpec[],
  { usersOf }: InboundFacts,
  same: Same,
): UserSetStep[] {
  const steps: UserSetStep[] = [];
  for (const spec of wanted) {
    const users = usersOf(spec);
    if (users === undefined) continue;
    const before = old.get(spec.tag);
    const kept =
      before !== undefined && before.protocol === spec.protocol && same(usersOf(before), users);
    steps.push({ action: kept ? 'reuse' : 'build', tag: spec.tag });
  }
  return steps;
}

function planInbound(
  old: InboundSpec | undefined,
  spec: InboundSpec,
  facts: InboundFacts,
  same: Same,
): InboundStep {
  if (!old) return { action: 'build', spec };
  const samePlace =
    isDeepStrictEqual(old.listen, spec.listen) && facts.meansOf(old) === facts.meansOf(spec);
  if (!samePlace) return { action: 'rebind', spec };
  if (same(old, spec)) return { action: 'reuse', spec };
  const reason = facts.restartReason(old, spec);
  return reason === undefined ? { action: 'swap', spec } : { action: 'restart', spec, reason };
}
