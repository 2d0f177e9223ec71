import { isDeepStrictEqual } from 'node:util';
import type { PacketTaps } from '@weir/base/ip/packet-device';
import type { AcceptedConnection } from '@weir/io/sockets';
import type { Steps, Turns } from '@weir/io/time';
import type { UnauthenticatedClients } from '@weir/proxy/accept';
import type { OwnedResolver } from '@weir/proxy/dns';
import { InboundRuntime, LiveSessions, type RoutingSnapshot } from '@weir/proxy/engine';
import {
  type Accounts,
  accountsOf,
  type CarrierProtocol,
  InboundMemory,
  NO_ACCOUNTS,
  type SessionProtocol,
} from '@weir/proxy/protocols';
import type { Hooks } from '@weir/proxy/hooks';
import type { RegexCache } from '@weir/proxy/names';
import type { Dispatcher, InboundHandler } from '@weir/proxy/protocols';
import type { RouterTables } from '@weir/proxy/router';
import type { InboundStreamSpec } from '@weir/proxy/spec';
import type { BalancerGroup } from '@weir/proxy/engine';
import type { Tracker } from '@weir/proxy/tracker';
import type { Acceptor } from '@weir/proxy/transports';
import {
  buildAcceptor,
  buildBalancer,
  buildInbound,
  buildOutbound,
  buildRoutingSnapshot,
  type BuiltOutbound,
  type OutboundDeps,
  exitsOf,
  loadForOutbounds,
  prepareStream,
} from './build.ts';
import type { DesiredState } from './desired-state.ts';
import type { InboundFacts, ProtocolOf } from './inbound-listener.ts';
import type { InboundStep, Plan } from './plan.ts';
import type {
  ListenerTarget,
  ReadySessions,
  SessionInbound,
  SwitchedListener,
} from './inbound-listeners.ts';

/** An inbound with its listener. */
export type RunningInbound = RunningCarriers | RunningSessions;

/** An inbound whose protocol receives carriers. */
interface RunningCarriers {
  readonly kind: 'carriers';
  readonly runtime: InboundRuntime;
  readonly listener: SwitchedListener;
  readonly acceptor: Acceptor;
  readonly stream: InboundStreamSpec | undefined;
}

/** An inbound whose listener owns its sessions. */
interface RunningSessions {
  readonly kind: 'sessions';
  readonly listener: SessionInbound;
  /** State that the successive servers of the inbound share. */
  readonly memory: InboundMemory;
}

/** The running resources before a reload, parts of which a plan reuses. */
export interface RunningResources {
  readonly outbounds: ReadonlyMap<string, BuiltOutbound>;
  readonly balancers: ReadonlyMap<string, BalancerGroup>;
  readonly inbounds: ReadonlyMap<string, RunningInbound>;
  /** The running routing snapshot; `undefined` before the first configuration was applied. */
  readonly snapshot: RoutingSnapshot | undefined;
}

/** All resources that a reload has built before its commit. */
export interface Staged {
  /** The new resolver; `undefined` when the running one is reused. */
  readonly resolver: OwnedResolver | undefined;
  readonly outbounds: ReadonlyMap<string, BuiltOutbound>;
  readonly balancers: ReadonlyMap<string, BalancerGroup>;
  readonly snapshot: RoutingSnapshot;
  /** Staged inbounds by tag; none for an inbound that does not change. */
  readonly inbounds: ReadonlyMap<string, StagedInbound>;
}

export type StagedInbound = StagedHandler | StagedListening | StagedSessions;

/** A handler for an inbound that keeps its listener. */
interface StagedHandler {
  readonly kind: 'handler';
  readonly handler: InboundHandler;
  /** Applies new stream settings; `undefined` if they have not changed. */
  readonly changeStream: (() => void) | undefined;
}

/** A handler, and its acceptor for carriers of a new listener. */
interface StagedListening {
  readonly kind: 'listening';
  readonly handler: InboundHandler;
  /** The running inbound, if any. */
  readonly runtime: InboundRuntime;
  readonly acceptor: Acceptor;
  readonly target: ListenerTarget;
}

/** A server for a listener that owns its sessions, new or existing. */
export interface StagedSessions {
  readonly kind: 'sessions';
  readonly ready: ReadySessions;
  readonly memory: InboundMemory;
}

interface StageDeps extends OutboundDeps {
  readonly regexes: RegexCache;
  readonly capture?: PacketTaps | undefined;
  readonly hooks?: Hooks | undefined;
  readonly tracker: Tracker;
  readonly dispatcher: Dispatcher;
  readonly protocolOf: ProtocolOf;
  readonly facts: InboundFacts;
  readonly unauthenticated: UnauthenticatedClients;
  /** Creates the resolver of the wanted configuration. */
  readonly createResolver: () => Promise<OwnedResolver>;
}

/**
 * Loads and builds all resources of the plan, in turns; changes nothing that runs, opens no socket and starts no timer:
 * outbounds and resolvers begin with their first use, balancers and servers after the commit. What is built
 * for a check, or for a reload that fails, needs no release: it is memory only, and OpenSSL's part is freed with its
 * garbage-collected owner.
 * @throws {ApplyError} `build_failed` or `bad_balancer`
 */
export async function stagePlan(
  plan: Plan,
  tables: RouterTables,
  running: RunningResources,
  turns: Turns,
  deps: StageDeps,
): Promise<Staged> {
  const makers = await loadForOutbounds(
    plan.outbounds.filter(({ action }) => action === 'build').map(({ spec }) => spec),
  );
  const outbounds = new Map<string, BuiltOutbound>();
  for (const { action, spec, version } of plan.outbounds) {
    const reused = action === 'reuse' ? running.outbounds.get(spec.tag) : undefined;
    outbounds.set(spec.tag, reused ?? buildOutbound(spec, version, makers, deps));
    if (turns.due) await turns.next();
  }
  const balancers = new Map<string, BalancerGroup>();
  for (const { action, spec } of plan.balancers) {
    const before = running.balancers.get(spec.tag);
    const reused = action === 'reuse' ? before : undefined;
    balancers.set(spec.tag, reused ?? buildBalancer(spec, outbounds, before, deps));
    if (turns.due) await turns.next();
  }
  const snapshot =
    (plan.route === 'reuse' ? running.snapshot : undefined) ??
    (await buildRoutingSnapshot(
      tables,
      await turns.run(exitsOf(outbounds, balancers)),
      (running.snapshot?.epoch ?? 0) + 1,
      deps.regexes,
      turns,
    ));
  const inbounds = await stageInbounds(plan, running, turns, deps);
  const next = plan.dns === 'build' ? await deps.createResolver() : undefined;
  return { resolver: next, outbounds, balancers, snapshot, inbounds };
}

async function stageInbounds(
  plan: Plan,
  running: RunningResources,
  turns: Turns,
  deps: StageDeps,
): Promise<ReadonlyMap<string, StagedInbound>> {
  const staged = new Map<string, StagedInbound>();
  for (const step of plan.inbounds) {
    if (step.action === 'reuse') continue;
    if (turns.due) await turns.next();
    const { tag, protocol } = step.spec;
    const side = deps.protocolOf(protocol);
    const old = step.action === 'build' ? undefined : running.inbounds.get(tag);
    staged.set(
      tag,
      side.kind === 'sessions'
        ? await stageSessions(step, side, old?.kind === 'sessions' ? old : undefined, turns, deps)
        : await stageCarriers(step, side, old?.kind === 'carriers' ? old : undefined, turns, deps),
    );
  }
  return staged;
}

async function stageCarriers(
  { action, spec }: InboundStep,
  side: CarrierProtocol<unknown>,
  old: RunningCarriers | undefined,
  turns: Turns,
  { clock, log, unauthenticated, ownListeners, tracker, dispatcher, hooks }: StageDeps,
): Promise<StagedHandler | StagedListening> {
  const { tag, stream } = spec;
  const memory = old?.runtime.memory ?? new InboundMemory();
  const handler = await buildInbound(spec, side, { clock, log, dispatcher, memory, hooks }, turns);
  if (action === 'swap' && old) {
    const same = isDeepStrictEqual(old.stream, stream);
    return {
      kind: 'handler',
      handler,
      changeStream: same ? undefined : prepareStream(spec, old.acceptor),
    };
  }
  const runtime =
    old?.runtime ?? new InboundRuntime(tag, memory, handler, tracker, ownListeners, log);
  const acceptor = buildAcceptor(spec, runtime.accept, { clock, log, unauthenticated });
  const target: ListenerTarget = {
    accept: (connection: AcceptedConnection) => acceptor.accept(connection),
    close: () => acceptor.close(),
    receive: runtime.receive,
    get associations() {
      return runtime.associations;
    },
    paused: pausedLine(tag, { clock, log }),
  };
  return { kind: 'listening', handler, runtime, acceptor, target };
}

async function stageSessions(
  { action, spec }: InboundStep,
  side: SessionProtocol<unknown>,
  old: RunningSessions | undefined,
  turns: Turns,
  { clock, log, ownListeners, tracker, dispatcher, facts, capture }: StageDeps,
): Promise<StagedSessions> {
  const memory = old?.memory ?? new InboundMemory();
  const server = await buildInbound(spec, side, { clock, log, dispatcher, memory, capture }, turns);
  const kept = action === 'swap' ? old?.listener.registry : undefined;
  const registry = kept ?? new LiveSessions(spec.tag, tracker, ownListeners);
  return {
    kind: 'sessions',
    ready: { spec, means: facts.meansOf(spec), server, registry },
    memory,
  };
}

/** Milliseconds between equal log lines of one inbound. */
const SAME_LINE_MS = 60_000;

/**
 * Rate-limits the log line of a listener without descriptors, which may run out and become available again many times a
 * second.
 */
function pausedLine(
  tag: string,
  { clock, log }: Pick<StageDeps, 'clock' | 'log'>,
): (reason: string) => void {
  /** Time at which a line may be repeated, by its reason; there are as many as errors of accept and epoll. */
  const next = new Map<string, number>();
  return (reason) => {
    const now = clock.now();
    if (now < (next.get(reason) ?? -Infinity)) return;
    next.set(reason, now + SAME_LINE_MS);
    log.warn(
      `inbound ${tag}: ${reason}; new connections wait until others are closed, and those of the client that holds the most give way`,
      {
        inbound: tag,
        error: reason,
      },
    );
  };
}

/** Outbounds and balancers that begin or end with a reload. */
interface ResourceChanges {
  readonly retired: readonly BuiltOutbound[];
  readonly stoppedGroups: readonly BalancerGroup[];
  readonly startedGroups: readonly BalancerGroup[];
}

export function* changesBetween(
  running: Pick<RunningResources, 'outbounds' | 'balancers'>,
  staged: Pick<Staged, 'outbounds' | 'balancers'>,
): Steps<ResourceChanges> {
  return {
    retired: yield* notIn(running.outbounds, staged.outbounds),
    stoppedGroups: yield* notIn(running.balancers, staged.balancers),
    startedGroups: yield* notIn(staged.balancers, running.balancers),
  };
}

/** Members whose probes start in one turn: each opens a connection, and most of that work follows the start. */
const PROBES_A_TURN = 16;

export async function startGroups(groups: readonly BalancerGroup[], turns: Turns): Promise<void> {
  let started = 0;
  for (const group of groups) {
    for (const _ of group.start()) {
      started++;
      if (started % PROBES_A_TURN === 0) await turns.next();
    }
  }
}

/** Stops the probes of replaced balancers; replaced outbounds close after their last flow. */
export function* endReplaced({ retired, stoppedGroups }: ResourceChanges): Steps<void> {
  for (const group of stoppedGroups) {
    group.stop();
    yield;
  }
  for (const { version } of retired) {
    version.retire();
    yield;
  }
}

/** Returns the values of one map that another does not hold under the same key. */
function* notIn<T>(items: ReadonlyMap<string, T>, others: ReadonlyMap<string, T>): Steps<T[]> {
  const found: T[] = [];
  for (const [tag, item] of items) {
    if (others.get(tag) !== item) found.push(item);
    yield;
  }
  return found;
}

/** Sets the names of accounts of all inbounds, for sessions that begin from now on. */
export function nameAccounts(
  inbounds: ReadonlyMap<string, RunningInbound>,
  names: DesiredState['accountNames'],
): void {
  for (const [tag, inbound] of inbounds) accountsOf(memoryOf(inbound)).names = names?.get(tag);
}

/**
 * Applies the accounts of new servers, and removes those of removed inbounds. An InboundRuntime itself replaces its
 * accounts when it gets a new handler.
 * @returns the accounts that may have changed, whose sessions without a flow are to end
 */
export function replaceAccounts(
  before: ReadonlyMap<string, RunningInbound>,
  after: ReadonlyMap<string, RunningInbound>,
  staged: ReadonlyMap<string, StagedInbound>,
): ReadonlySet<Accounts> {
  const changed = new Set<Accounts>();
  for (const [tag, inbound] of before) {
    const accounts = accountsOf(memoryOf(inbound));
    const isGone = after.get(tag)?.kind !== inbound.kind;
    if (isGone) accounts.replace(NO_ACCOUNTS);
    if (isGone || staged.has(tag)) changed.add(accounts);
  }
  for (const next of staged.values()) {
    if (next.kind !== 'sessions') continue;
    accountsOf(next.memory).replace(next.ready.server.accounts ?? NO_ACCOUNTS);
  }
  return changed;
}

const memoryOf = (inbound: RunningInbound): InboundMemory =>
  inbound.kind === 'carriers' ? inbound.runtime.memory : inbound.memory;
