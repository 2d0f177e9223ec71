import { isDeepStrictEqual } from 'node:util';
import type { KeptObjects } from '@weir/base/collections';
import type { OwnedResolver } from '@weir/proxy/dns';
import {
  type BalancerGroup,
  InboundRuntime,
  LiveSessions,
  type RoutingSnapshot,
} from '@weir/proxy/engine';
import type { RegexCache } from '@weir/proxy/names';
import type { RouterTables } from '@weir/proxy/router';
import type { PacketTaps } from '@weir/base/ip/tapped-device';
import type { Logger } from '@weir/base/log';
import type { Clock, Turns } from '@weir/io/time';
import type { OwnListeners } from '@weir/io/net/own-listeners';
import type { Resolver } from '@weir/io/addresses';
import type { AcceptedConnection } from '@weir/io/sockets';
import {
  type CarrierProtocol,
  type Dispatcher,
  type InboundHandler,
  InboundMemory,
  type SessionProtocol,
} from '@weir/proxy/protocols';
import type { InboundStreamSpec } from '@weir/proxy/spec';
import type { Tracker } from '@weir/proxy/tracker';
import type { Acceptor } from '@weir/proxy/transports';
import type { UnauthenticatedClients } from '@weir/proxy/accept';
import {
  buildAcceptor,
  buildBalancer,
  buildInbound,
  buildOutbound,
  buildRoutingSnapshot,
  type BuiltOutbound,
  exitsOf,
  loadForOutbounds,
  prepareStream,
} from './build.ts';
import type { InboundFacts, ProtocolOf } from './inbound-facts.ts';
import type { InboundStep, Plan } from './plan.ts';
import type { ReadySessions, SessionInbound } from './session-inbound.ts';
import type { ListenerTarget, SwitchedListener } from './switched-listener.ts';

/** An inbound with its listener. */
export type RunningInbound = RunningCarriers | RunningSessions;

/** An inbound whose protocol receives carriers. */
export interface RunningCarriers {
  readonly kind: 'carriers';
  readonly runtime: InboundRuntime;
  readonly listener: SwitchedListener;
  readonly acceptor: Acceptor;
  readonly stream: InboundStreamSpec | undefined;
}

/** An inbound whose listener owns its sessions. */
export interface RunningSessions {
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
export interface StagedHandler {
  readonly kind: 'handler';
  readonly handler: InboundHandler;
  /** Applies new stream settings; `undefined` if they have not changed. */
  readonly changeStream: (() => void) | undefined;
}

/** A handler, and its acceptor for carriers of a new listener. */
export interface StagedListening {
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

export interface StageDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly ownListeners: OwnListeners;
  readonly regexes: RegexCache;
  readonly capture?: PacketTaps | undefined;
  readonly tracker: Tracker;
  readonly dispatcher: Dispatcher;
  readonly protocolOf: ProtocolOf;
  readonly facts: InboundFacts;
  readonly unauthenticated: UnauthenticatedClients;
  readonly shared: KeptObjects;
  /** Aborts when the proxy has stopped; see `OutboundContext`. */
  readonly stopped: AbortSignal;
  /** The resolver of outbounds: see ResolverHandle. */
  readonly resolver: Resolver;
  /** Creates the resolver of the wanted configuration. */
  readonly createResolver: () => Promise<OwnedResolver>;
}

/**
 * Loads and builds all resources of the plan, in turns; changes nothing that runs, opens no socket and starts no timer:
 * outbounds and resolvers begin with their first use, balancers and servers after the commit. What is built
 * for a check, or for a reload that fails, needs no release: it is memory only, and OpenSSL's part is freed with its
 * garbage-collected owner.
 *
 * @throws {ApplyError} `build_failed` or `bad_balancer`
 */
export async function stagePlan(
  plan: Plan,
  tables: RouterTables,
  running: RunningResources,
  turns: Turns,
  deps: StageDeps,
): Promise<Staged> {
  const { clock, log, ownListeners, regexes, resolver, shared, stopped } = deps;
  const outboundDeps = { clock, log, ownListeners, resolver, shared, stopped };
  const makers = await loadForOutbounds(
    plan.outbounds.filter(({ action }) => action === 'build').map(({ spec }) => spec),
  );
  const outbounds = new Map<string, BuiltOutbound>();
  for (const { action, spec, version } of plan.outbounds) {
    const reused = action === 'reuse' ? running.outbounds.get(spec.tag) : undefined;
    outbounds.set(spec.tag, reused ?? buildOutbound(spec, version, makers, outboundDeps));
    if (turns.due) await turns.next();
  }
  const balancers = new Map<string, BalancerGroup>();
  for (const { action, spec } of plan.balancers) {
    const before = running.balancers.get(spec.tag);
    const reused = action === 'reuse' ? before : undefined;
    balancers.set(spec.tag, reused ?? buildBalancer(spec, outbounds, before, outboundDeps));
    if (turns.due) await turns.next();
  }
  const snapshot =
    (plan.route === 'reuse' ? running.snapshot : undefined) ??
    (await buildRoutingSnapshot(
      tables,
      await turns.run(exitsOf(outbounds, balancers)),
      (running.snapshot?.epoch ?? 0) + 1,
      regexes,
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
  { clock, log, unauthenticated, ownListeners, tracker, dispatcher }: StageDeps,
): Promise<StagedHandler | StagedListening> {
  const { tag, stream } = spec;
  const memory = old?.runtime.memory ?? new InboundMemory();
  const handler = await buildInbound(spec, side, { clock, log, dispatcher, memory }, turns);
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
  const target = {
    accept: (connection: AcceptedConnection) => acceptor.accept(connection),
    close: () => acceptor.close(),
    receive: runtime.receive,
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
