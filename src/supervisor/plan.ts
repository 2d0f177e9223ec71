import { isDeepStrictEqual } from 'node:util';
import type { Steps } from '../net/time/turns.ts';
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
  /** Tags of inbounds whose listeners have failed; left out for none. */
  readonly failed?: ReadonlySet<string>;
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
 * Compares what runs with what is wanted, resource by resource, each in a step. Pure.
 *
 * @param same compares; given where long lists have been compared already
 */
export function* planReload(
  running: Running,
  wanted: Spec,
  facts: InboundFacts,
  same: Same = isDeepStrictEqual,
): Steps<Plan> {
  const old = running.spec;
  const outbounds = yield* planOutbounds(running, wanted, same);
  const keptOutbounds = yield* tagsReused(outbounds);
  const balancers = yield* planBalancers(old, wanted, keptOutbounds);
  const kept = keptOutbounds.union(yield* tagsReused(balancers));
  yield;
  const drained: Plan['drained'][number][] = [];
  for (const { tag } of old?.outbounds ?? []) {
    if (!keptOutbounds.has(tag)) drained.push({ tag, version: running.versions.get(tag) ?? 0 });
    yield;
  }
  const route =
    old &&
    isSameRoute(old.route, wanted.route) &&
    [...exitsNamedBy(wanted.route)].every((tag) => kept.has(tag))
      ? 'reuse'
      : 'build';
  const oldInbounds = yield* byTag(old?.inbounds ?? []);
  const inbounds: InboundStep[] = [];
  for (const spec of wanted.inbounds) {
    const step = planInbound(oldInbounds.get(spec.tag), spec, facts, same);
    inbounds.push(running.failed?.has(spec.tag) === true ? afterFailure(step) : step);
    yield;
  }
  const wantedTags = new Set(wanted.inbounds.map(({ tag }) => tag));
  return {
    dns: old && isDeepStrictEqual(old.dns, wanted.dns) ? 'reuse' : 'build',
    outbounds,
    drained,
    balancers,
    route,
    userSets: yield* planUserSets(oldInbounds, wanted.inbounds, facts, same),
    inbounds,
    removed: [...oldInbounds.keys()].filter((tag) => !wantedTags.has(tag)),
  };
}

/** What applying a plan is reported as, each name in a step. */
export function* reportOf(plan: Plan): Steps<AppliedReport> {
  const names: Record<InboundStep['action'], string[]> = {
    build: [],
    reuse: [],
    swap: [],
    rebind: [],
    restart: [],
  };
  for (const { action, name } of namesOf(plan)) {
    names[action].push(name);
    yield;
  }
  const tags = (wanted: InboundStep['action']): string[] =>
    plan.inbounds.filter(({ action }) => action === wanted).map(({ spec }) => spec.tag);
  const drained: string[] = [];
  for (const { tag, version } of plan.drained) {
    drained.push(`${tag}@v${version}`);
    yield;
  }
  return {
    status: 'applied',
    built: names.build,
    swapped: tags('swap'),
    drained,
    rebound: tags('rebind'),
    restarted: tags('restart'),
    removed: plan.removed,
    reused: names.reuse,
  };
}

interface NamedAction {
  readonly action: InboundStep['action'];
  readonly name: string;
}

/** All resources in the order of a report. */
function* namesOf(plan: Plan): Iterable<NamedAction> {
  yield { action: plan.dns, name: 'dns' };
  for (const { action, spec, version } of plan.outbounds) {
    yield { action, name: `outbound ${spec.tag}@v${version}` };
  }
  for (const { action, spec } of plan.balancers) yield { action, name: `balancer ${spec.tag}` };
  yield { action: plan.route, name: 'route' };
  for (const { action, tag } of plan.userSets) yield { action, name: `user set ${tag}` };
  for (const { action, spec } of plan.inbounds) yield { action, name: `inbound ${spec.tag}` };
}

function* tagsReused(steps: readonly (OutboundStep | BalancerStep)[]): Steps<Set<string>> {
  const tags = new Set<string>();
  for (const { action, spec } of steps) {
    if (action === 'reuse') tags.add(spec.tag);
    yield;
  }
  return tags;
}

function* byTag<T extends { readonly tag: string }>(items: readonly T[]): Steps<Map<string, T>> {
  const map = new Map<string, T>();
  for (const item of items) {
    map.set(item.tag, item);
    yield;
  }
  return map;
}

function* planOutbounds(
  { spec, versions }: Running,
  wanted: Spec,
  same: Same,
): Steps<OutboundStep[]> {
  const old = yield* byTag(spec?.outbounds ?? []);
  const steps: OutboundStep[] = [];
  for (const outbound of wanted.outbounds) {
    const version = versions.get(outbound.tag) ?? 0;
    steps.push(
      same(old.get(outbound.tag), outbound)
        ? { action: 'reuse', spec: outbound, version }
        : { action: 'build', spec: outbound, version: version + 1 },
    );
    yield;
  }
  return steps;
}

function* planBalancers(
  old: Spec | undefined,
  wanted: Spec,
  keptOutbounds: ReadonlySet<string>,
): Steps<BalancerStep[]> {
  const before = yield* byTag(old?.balancers ?? []);
  const steps: BalancerStep[] = [];
  for (const spec of wanted.balancers) {
    const same =
      isDeepStrictEqual(before.get(spec.tag), spec) &&
      spec.outbounds.every((member) => keptOutbounds.has(member));
    steps.push({ action: same ? 'reuse' : 'build', spec });
    yield;
  }
  return steps;
}

function* planUserSets(
  old: ReadonlyMap<string, InboundSpec>,
  wanted: readonly InboundSpec[],
  { usersOf }: InboundFacts,
  same: Same,
): Steps<UserSetStep[]> {
  const steps: UserSetStep[] = [];
  for (const spec of wanted) {
    yield;
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

/** A listener that has failed is bound again, even for an inbound that has not changed. */
function afterFailure(step: InboundStep): InboundStep {
  if (step.action !== 'reuse' && step.action !== 'swap') return step;
  return { action: 'restart', spec: step.spec, reason: 'its listener has failed' };
}
