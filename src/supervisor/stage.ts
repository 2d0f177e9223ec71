import { isDeepStrictEqual } from 'node:util';
import type { OwnedResolver } from '../dns/cached-resolver.ts';
import type { BalancerGroup } from '../engine/balancer/group.ts';
import { InboundRuntime } from '../engine/inbound-runtime.ts';
import { LiveSessions } from '../engine/live-sessions.ts';
import type { Plane } from '../engine/plane.ts';
import type { RegexCache } from '../engine/router/tables/regex-set.ts';
import type { RouterTables } from '../engine/router/tables/router-tables.ts';
import type { Logger } from '../log/logger.ts';
import type { Clock } from '../net/time/clock.ts';
import type { OwnListeners } from '../net/loop-guard/own-listeners.ts';
import type { Resolver } from '../net/addresses/resolver.ts';
import type { AcceptedConnection } from '../net/sockets/sockets.ts';
import type { Steps, Turns } from '../net/time/turns.ts';
import type { Dispatcher, InboundHandler } from '../protocols/contract.ts';
import { InboundMemory } from '../protocols/inbounds/inbound-memory.ts';
import type { SessionProtocol } from '../protocols/protocol.ts';
import type { InboundSpec, InboundStreamSpec } from '../spec.ts';
import type { Tracker } from '../tracker/tracker.ts';
import {
  buildAcceptor,
  buildBalancer,
  buildInbound,
  buildOutbound,
  buildPlane,
  exitsOf,
  prepareStream,
  type BuiltOutbound,
} from './build.ts';
import type { Acceptor } from '../transports/acceptor.ts';
import type { UnauthenticatedClients } from '../transports/unauthenticated-clients.ts';
import type { InboundFacts, ProtocolOf } from './inbound-facts.ts';
import type { InboundStep, Plan } from './plan.ts';
import type { ReadySessions, SessionInbound } from './session-inbound.ts';
import type { ListenerTarget, SwitchedListener } from './switched-listener.ts';

/** One inbound with what it listens on. */
export type RunningInbound = RunningCarriers | RunningSessions;

/** An inbound whose protocol is given carriers. */
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
  /** Shared by its successive servers. */
  readonly memory: InboundMemory;
}

/** What runs before a reload, of which a plan reuses parts. */
export interface RunningResources {
  readonly outbounds: ReadonlyMap<string, BuiltOutbound>;
  readonly balancers: ReadonlyMap<string, BalancerGroup>;
  readonly inbounds: ReadonlyMap<string, RunningInbound>;
  /** `undefined` before the first configuration was applied. */
  readonly plane: Plane | undefined;
}

/** What a new listener accepts for. */
export interface Accepting {
  readonly acceptor: Acceptor;
  readonly target: ListenerTarget;
}

/** Everything that a reload has built and not yet put in force. */
export interface Staged {
  /** `undefined` when the running one is reused. */
  readonly resolver: OwnedResolver | undefined;
  readonly outbounds: ReadonlyMap<string, BuiltOutbound>;
  readonly balancers: ReadonlyMap<string, BalancerGroup>;
  readonly plane: Plane;
  readonly handlers: ReadonlyMap<string, InboundHandler>;
  /** Runtimes of new inbounds. */
  readonly runtimes: ReadonlyMap<string, InboundRuntime>;
  /** For new listeners. */
  readonly accepting: ReadonlyMap<string, Accepting>;
  /** Put new stream settings of inbounds in force that keep their listeners. */
  readonly streamChanges: ReadonlyMap<string, () => void>;
  /** For new listeners that own their sessions, and for those with new settings. */
  readonly sessions: ReadonlyMap<string, StagedSessions>;
}

export interface StagedSessions {
  readonly ready: ReadySessions;
  readonly memory: InboundMemory;
}

export interface StageDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly ownListeners: OwnListeners;
  readonly regexes: RegexCache;
  readonly tracker: Tracker;
  readonly dispatcher: Dispatcher;
  readonly protocolOf: ProtocolOf;
  readonly facts: InboundFacts;
  readonly newcomers: UnauthenticatedClients;
  /** What outbounds resolve with, whichever resolver is behind it. */
  readonly resolver: Resolver;
  /** Makes the resolver of the wanted configuration. */
  readonly createResolver: () => OwnedResolver;
}

/**
 * Builds all that the plan calls for, yielding to traffic; touches nothing that runs and opens no
 * socket.
 *
 * @throws {ApplyError} `build_failed` or `bad_balancer`.
 */
export async function stagePlan(
  plan: Plan,
  tables: RouterTables,
  running: RunningResources,
  turns: Turns,
  deps: StageDeps,
): Promise<Staged> {
  const { clock, log, ownListeners, regexes, resolver } = deps;
  const outboundDeps = { clock, log, ownListeners, resolver };
  const outbounds = new Map<string, BuiltOutbound>();
  for (const { action, spec, version } of plan.outbounds) {
    const reused = action === 'reuse' ? running.outbounds.get(spec.tag) : undefined;
    outbounds.set(spec.tag, reused ?? buildOutbound(spec, version, outboundDeps));
    if (turns.due) await turns.next();
  }
  const balancers = new Map<string, BalancerGroup>();
  for (const { action, spec } of plan.balancers) {
    const before = running.balancers.get(spec.tag);
    const reused = action === 'reuse' ? before : undefined;
    balancers.set(spec.tag, reused ?? buildBalancer(spec, outbounds, before, outboundDeps));
    if (turns.due) await turns.next();
  }
  const plane =
    (plan.route === 'reuse' ? running.plane : undefined) ??
    (await buildPlane(
      tables,
      await turns.run(exitsOf(outbounds, balancers)),
      (running.plane?.epoch ?? 0) + 1,
      regexes,
      turns,
    ));
  const inbounds = await stageInbounds(plan, running, turns, deps);
  const next = plan.dns === 'build' ? deps.createResolver() : undefined;
  return { resolver: next, outbounds, balancers, plane, ...inbounds };
}

async function stageInbounds(
  plan: Plan,
  running: RunningResources,
  turns: Turns,
  deps: StageDeps,
): Promise<Pick<Staged, 'handlers' | 'runtimes' | 'accepting' | 'streamChanges' | 'sessions'>> {
  const { clock, log, newcomers, ownListeners, tracker, dispatcher, protocolOf } = deps;
  const handlers = new Map<string, InboundHandler>();
  const runtimes = new Map<string, InboundRuntime>();
  const accepting = new Map<string, Accepting>();
  const streamChanges = new Map<string, () => void>();
  const sessions = new Map<string, StagedSessions>();
  for (const { action, spec } of plan.inbounds) {
    if (action === 'reuse') continue;
    if (turns.due) await turns.next();
    const { tag, stream } = spec;
    const side = protocolOf(spec.protocol);
    const before = action === 'build' ? undefined : running.inbounds.get(tag);
    if (side.kind === 'sessions') {
      const old = before?.kind === 'sessions' ? before : undefined;
      sessions.set(tag, await stageSessions(spec, side, action, old, turns, deps));
      continue;
    }
    const old = before?.kind === 'carriers' ? before : undefined;
    const memory = old?.runtime.memory ?? new InboundMemory();
    const handler = await buildInbound(spec, side, { clock, log, dispatcher, memory }, turns);
    handlers.set(tag, handler);
    const runtime =
      old?.runtime ?? new InboundRuntime(tag, memory, handler, tracker, ownListeners, log);
    if (!old) runtimes.set(tag, runtime);
    if (action === 'swap' && old) {
      if (!isDeepStrictEqual(old.stream, stream)) {
        streamChanges.set(tag, prepareStream(spec, old.acceptor));
      }
      continue;
    }
    const acceptor = buildAcceptor(spec, runtime.accept, { clock, log, newcomers });
    const target = {
      accept: (connection: AcceptedConnection) => acceptor.accept(connection),
      close: () => acceptor.close(),
      receive: runtime.receive,
      heldBack: heldBackLine(tag, { clock, log }),
    };
    accepting.set(tag, { acceptor, target });
  }
  return { handlers, runtimes, accepting, streamChanges, sessions };
}

async function stageSessions(
  spec: InboundSpec,
  side: SessionProtocol<unknown>,
  action: InboundStep['action'],
  old: RunningSessions | undefined,
  turns: Turns,
  { clock, log, ownListeners, tracker, dispatcher, facts }: StageDeps,
): Promise<StagedSessions> {
  const memory = old?.memory ?? new InboundMemory();
  const server = await buildInbound(spec, side, { clock, log, dispatcher, memory }, turns);
  const kept = action === 'swap' ? old?.listener.book : undefined;
  const book = kept ?? new LiveSessions(spec.tag, tracker, ownListeners);
  return { ready: { spec, means: facts.meansOf(spec), server, book }, memory };
}

/** Releases what was built for a reload that failed or a check. */
export function* disposeStaged(
  plan: Plan,
  { resolver, outbounds, accepting }: Staged,
): Steps<void> {
  resolver?.destroy();
  for (const { acceptor } of accepting.values()) {
    acceptor.close();
    yield;
  }
  for (const { action, spec } of plan.outbounds) {
    if (action === 'build') outbounds.get(spec.tag)?.version.retire();
    yield;
  }
}

/** Time between two lines that say the same of one inbound. */
const SAME_LINE_MS = 60_000;

/** Descriptors may run out and come free many times a second. */
function heldBackLine(
  tag: string,
  { clock, log }: Pick<StageDeps, 'clock' | 'log'>,
): (reason: string) => void {
  let next = -Infinity;
  return (reason) => {
    const now = clock.now();
    if (now < next) return;
    next = now + SAME_LINE_MS;
    log.warn(`inbound ${tag}: ${reason}; new connections wait until others are closed`, {
      inbound: tag,
      error: reason,
    });
  };
}
