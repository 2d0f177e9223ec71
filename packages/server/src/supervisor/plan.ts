import { isDeepStrictEqual } from 'node:util';
import type { Steps } from '@weir/io/time';
import type { BalancerSpec, InboundSpec, OutboundSpec } from '@weir/proxy/spec';
import type { InboundFacts } from './inbound-listener.ts';
import type { AppliedReport } from './reload-report.ts';
import type { InboundDigests, DesiredState } from './desired-state.ts';

/** The running state, as far as a plan depends on it. */
interface Running {
  /** The configuration in force; `undefined` before the first was applied. */
  readonly applied: DesiredState | undefined;
  /** The newest version that each outbound tag has ever had, removed tags included. */
  readonly versions: ReadonlyMap<string, number>;
  /** Tags of inbounds whose listeners have failed. */
  readonly failed?: ReadonlySet<string>;
}

interface OutboundStep {
  readonly action: 'build' | 'reuse';
  readonly spec: OutboundSpec;
  readonly version: number;
}

interface BalancerStep {
  readonly action: 'build' | 'reuse';
  readonly spec: BalancerSpec;
}

interface UserSetStep {
  readonly action: 'build' | 'reuse';
  readonly tag: string;
}

/**
 * The step for an inbound: it is new (`build`), unchanged (`reuse`), gets a new handler at its listener
 * (`swap`), a listener at another address (`rebind`), or a new listener at its address (`restart`).
 */
export type InboundStep =
  | { readonly action: 'build' | 'reuse' | 'swap' | 'rebind'; readonly spec: InboundSpec }
  | {
      readonly action: 'restart';
      readonly spec: InboundSpec;
      /** The reason why the step is impossible while sessions are live. */
      readonly reason: string;
    };

/** The steps from the running to the wanted configuration, planned before anything is changed. */
export interface Plan {
  readonly dns: 'build' | 'reuse';
  readonly outbounds: readonly OutboundStep[];
  /** Replaced and removed versions: they accept no new flow, and are closed after their last one. */
  readonly replaced: readonly { readonly tag: string; readonly version: number }[];
  readonly balancers: readonly BalancerStep[];
  readonly route: 'build' | 'reuse';
  readonly userSets: readonly UserSetStep[];
  readonly inbounds: readonly InboundStep[];
  readonly removed: readonly string[];
}

/** Compares the running with the wanted configuration, one resource per step. Pure. */
export function* planReload(
  running: Running,
  wanted: DesiredState,
  facts: InboundFacts,
): Steps<Plan> {
  const { applied } = running;
  const old = applied?.spec;
  const outbounds = yield* planOutbounds(running, wanted);
  const keptOutbounds = yield* tagsReused(outbounds);
  const balancers = yield* planBalancers(old?.balancers, wanted, keptOutbounds);
  const kept = keptOutbounds.union(yield* tagsReused(balancers));
  yield;
  const replaced: Plan['replaced'][number][] = [];
  for (const { tag } of old?.outbounds ?? []) {
    if (!keptOutbounds.has(tag)) replaced.push({ tag, version: running.versions.get(tag) ?? 0 });
    yield;
  }
  const { tables } = wanted;
  const sameRoute =
    applied?.digests.route === wanted.digests.route &&
    [...tables.targets, tables.default].every((tag) => kept.has(tag));
  const before = yield* byTag(old?.inbounds, (spec, index): DigestedInbound => ({
    spec,
    digests: applied?.digests.inbounds[index],
  }));
  const userSets: UserSetStep[] = [];
  const inbounds: InboundStep[] = [];
  for (const [index, spec] of wanted.spec.inbounds.entries()) {
    const after = { spec, digests: wanted.digests.inbounds[index] };
    const { tag } = spec;
    const step = planInbound(before.get(tag), after, facts);
    inbounds.push(running.failed?.has(tag) === true ? afterFailure(step) : step);
    const userSet = planUserSet(before.get(tag), after);
    if (userSet) userSets.push(userSet);
    yield;
  }
  const wantedTags = new Set(inbounds.map(({ spec }) => spec.tag));
  return {
    dns: old && isDeepStrictEqual(old.dns, wanted.spec.dns) ? 'reuse' : 'build',
    outbounds,
    replaced,
    balancers,
    route: sameRoute ? 'reuse' : 'build',
    userSets,
    inbounds,
    removed: [...before.keys()].filter((tag) => !wantedTags.has(tag)),
  };
}

/** Returns the report of applying a plan, one name per step. */
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
  for (const { tag, version } of plan.replaced) {
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

/** Yields all resources in the order of a report. */
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

/** An inbound with its digests. */
interface DigestedInbound {
  readonly spec: InboundSpec;
  readonly digests: InboundDigests | undefined;
}

/** Returns a value for each item, by tag; one item per step. */
function* byTag<T extends { readonly tag: string }, V>(
  items: readonly T[] = [],
  valueOf: (item: T, index: number) => V,
): Steps<Map<string, V>> {
  const values = new Map<string, V>();
  for (const [index, item] of items.entries()) {
    values.set(item.tag, valueOf(item, index));
    yield;
  }
  return values;
}

function* planOutbounds(
  { applied, versions }: Running,
  wanted: DesiredState,
): Steps<OutboundStep[]> {
  const before = yield* byTag(
    applied?.spec.outbounds,
    (_, index) => applied?.digests.outbounds[index],
  );
  const steps: OutboundStep[] = [];
  for (const [index, spec] of wanted.spec.outbounds.entries()) {
    const version = versions.get(spec.tag) ?? 0;
    steps.push(
      before.has(spec.tag) && before.get(spec.tag) === wanted.digests.outbounds[index]
        ? { action: 'reuse', spec, version }
        : { action: 'build', spec, version: version + 1 },
    );
    yield;
  }
  return steps;
}

function* planBalancers(
  old: readonly BalancerSpec[] | undefined,
  { spec: { balancers } }: DesiredState,
  keptOutbounds: ReadonlySet<string>,
): Steps<BalancerStep[]> {
  const before = yield* byTag(old, (spec) => spec);
  const steps: BalancerStep[] = [];
  for (const spec of balancers) {
    const same =
      isDeepStrictEqual(before.get(spec.tag), spec) &&
      spec.outbounds.every((member) => keptOutbounds.has(member));
    steps.push({ action: same ? 'reuse' : 'build', spec });
    yield;
  }
  return steps;
}

/** Plans the user set of an inbound; `undefined` for an inbound without users. */
function planUserSet(
  before: DigestedInbound | undefined,
  { spec, digests }: DigestedInbound,
): UserSetStep | undefined {
  if (digests?.users === undefined) return undefined;
  const kept = before?.spec.protocol === spec.protocol && before.digests?.users === digests.users;
  return { action: kept ? 'reuse' : 'build', tag: spec.tag };
}

function planInbound(
  before: DigestedInbound | undefined,
  { spec, digests }: DigestedInbound,
  facts: InboundFacts,
): InboundStep {
  if (!before) return { action: 'build', spec };
  const { spec: old } = before;
  const samePlace =
    isDeepStrictEqual(old.listen, spec.listen) && facts.meansOf(old) === facts.meansOf(spec);
  if (!samePlace) return { action: 'rebind', spec };
  if (before.digests?.whole === digests?.whole) return { action: 'reuse', spec };
  const reason = facts.restartReason(old, spec);
  return reason === undefined ? { action: 'swap', spec } : { action: 'restart', spec, reason };
}

/** Plans to bind a failed listener again, even if its inbound has not changed. */
function afterFailure(step: InboundStep): InboundStep {
  if (step.action !== 'reuse' && step.action !== 'swap') return step;
  return { action: 'restart', spec: step.spec, reason: 'its listener has failed' };
}
