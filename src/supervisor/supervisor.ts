import { Dispatcher } from '../engine/dispatcher.ts';
import { DnsOutbound } from '../engine/dns-outbound.ts';
import type { BalancerGroup } from '../engine/balancer/group.ts';
import type { Plane } from '../engine/plane.ts';
import type { RegexCache } from '../engine/router/tables/regex-set.ts';
import { createResolver } from '../dns/create-resolver.ts';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';
import type { Clock } from '../net/time/clock.ts';
import { LinkClosedError } from '../net/errors.ts';
import type { OwnListeners } from '../net/loop-guard/own-listeners.ts';
import { systemSockets } from '../net/sockets/system-sockets.ts';
import { Turns, type Steps } from '../net/time/turns.ts';
import type { OwnedResolver } from '../dns/cached-resolver.ts';
import type { DnsSpec } from '../spec.ts';
import { accountsOf, NO_ACCOUNTS, type Accounts } from '../protocols/users/standing.ts';
import { Tracker } from '../tracker/tracker.ts';
import { UnauthenticatedClients } from '../transports/unauthenticated-clients.ts';
import { ApplyError } from './apply-error.ts';
import type { BuiltOutbound } from './build.ts';
import { Departures, type LiveSide } from './departures.ts';
import { inboundFacts, type InboundFacts, type ProtocolOf } from './inbound-facts.ts';
import type { InboundMemory } from '../protocols/inbounds/inbound-memory.ts';
import { inboundProtocol } from '../protocols/registry.ts';
import type { LeavingListener } from './inbound-listener.ts';
import { disruptive, ListenerExchange, type FreedListener } from './listener-exchange.ts';
import { planReload, reportOf, type InboundStep, type Plan } from './plan.ts';
import type { AppliedReport } from './reload-report.ts';
import { ResolverHandle } from './resolver-handle.ts';
import {
  disposeStaged,
  stagePlan,
  type RunningInbound,
  type RunningResources,
  type Staged,
} from './stage.ts';
import { runningInbound, wantedListeners } from './wanted-listeners.ts';
import type { Wanted } from './wanted.ts';

export interface SupervisorDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Kept up to date with the listeners of the inbounds. */
  readonly ownListeners: OwnListeners;
  /** Kept across reloads: see RegexCache. */
  readonly regexes: RegexCache;
  /** Finds the protocols of inbounds; in the registry when left out. */
  readonly protocolOf?: ProtocolOf | undefined;
}

export interface ApplyOptions {
  /** Listeners that are no inbound's and leave their addresses, of which inbounds may make use. */
  readonly leaving?: readonly LeavingListener[];
  /** Called when all listeners are bound and none is served yet; what it rejects with is the end. */
  readonly bound?: () => Promise<void>;
}

/**
 * Turns a Spec into running resources, from nothing or from what runs, and stops them.
 *
 * A reload builds and binds all that is new first; until that has succeeded nothing that runs is
 * touched, and then pointers are swapped. Live flows keep the outbound version, and live sessions
 * the handler, that they started with.
 */
export class Supervisor {
  readonly tracker: Tracker;
  readonly #deps: SupervisorDeps;
  readonly #dispatcher: Dispatcher;
  readonly #resolver: ResolverHandle;
  readonly #versions = new Map<string, number>();
  readonly #protocolOf: ProtocolOf;
  readonly #facts: InboundFacts;
  readonly #departures = new Departures();
  readonly #newcomers = UnauthenticatedClients.within(systemSockets().descriptorLimit);
  /** The configuration in force. */
  #applied: Wanted | undefined;
  #outbounds: ReadonlyMap<string, BuiltOutbound> = new Map();
  #balancers: ReadonlyMap<string, BalancerGroup> = new Map();
  #inbounds: ReadonlyMap<string, RunningInbound> = new Map();
  #plane: Plane | undefined;
  readonly #stopping = new AbortController();
  #listenersClosed: Promise<unknown> | undefined;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#protocolOf = deps.protocolOf ?? inboundProtocol;
    this.#facts = inboundFacts(this.#protocolOf);
    this.tracker = new Tracker(deps.clock);
    this.#resolver = new ResolverHandle(this.#createResolver({ backend: 'system' }));
    this.#dispatcher = new Dispatcher({
      tracker: this.tracker,
      clock: deps.clock,
      log: deps.log,
      plane: () => this.#currentPlane(),
      resolver: new DnsOutbound(this.#resolver, deps.clock),
    });
    this.tracker.traffic.start();
  }

  /** Inbounds that are served. */
  get inbounds(): number {
    return this.#inbounds.size;
  }

  /**
   * Makes what runs into what is wanted. One call at a time.
   *
   * @throws {ApplyError} with the reason; what ran before then goes on unchanged.
   */
  async apply(wanted: Wanted, { leaving = [], bound }: ApplyOptions = {}): Promise<AppliedReport> {
    this.#refuseStopped();
    const turns = new Turns(this.#deps.clock);
    const running = {
      applied: this.#applied,
      versions: this.#versions,
      failed: this.#failedInbounds(),
    };
    const plan = await turns.run(planReload(running, wanted, this.#facts));
    this.#refuseDisruption(plan);
    const staged = await this.#stage(wanted, plan, turns);
    const changes = await turns.run(this.#changesBy(staged));
    const exchange = new ListenerExchange(this.#freedBy(plan), leaving, this.#deps.log);
    const { signal } = this.#stopping;
    try {
      await exchange.bind(
        wantedListeners(plan, staged, this.#inbounds, this.#facts),
        turns,
        signal,
      );
      await bound?.();
      this.#refuseStopped();
    } catch (error) {
      await exchange.rollBack(!signal.aborted);
      await turns.run(disposeStaged(plan, staged));
      throw error;
    }
    const accounts = this.#commit(wanted, plan, staged, exchange);
    // Not awaited: there may be thousands of members.
    void startAll(changes.startedGroups, new Turns(this.#deps.clock));
    const onFailure = (error: unknown): void => {
      this.#deps.log.error(`the session of a removed account goes on: ${messageOf(error)}`);
    };
    for (const changed of accounts) await changed.endRemoved(turns, onFailure);
    await turns.run(endAll(changes));
    return turns.run(reportOf(plan));
  }

  /**
   * Builds everything that is wanted from nothing and releases it again; binds no listener and
   * touches nothing that runs.
   *
   * @throws {ApplyError} as `apply`, but never for a listener or for live connections.
   */
  async check(wanted: Wanted): Promise<void> {
    const turns = new Turns(this.#deps.clock);
    const nothing = { applied: undefined, versions: new Map<string, number>() };
    const plan = await turns.run(planReload(nothing, wanted, this.#facts));
    const staged = await this.#stage(wanted, plan, turns);
    await turns.run(disposeStaged(plan, staged));
  }

  /**
   * Closes the listeners and aborts a reload that is binding some. Open flows go on; live sessions begin no
   * others.
   */
  async closeListeners(): Promise<void> {
    this.#stopping.abort(new ApplyError('stopped', 'the proxy is stopping'));
    this.#dispatcher.refuseNew();
    this.#listenersClosed ??= Promise.all(
      [...this.#inbounds.values()].map(({ listener }) => listener.retire()),
    );
    await this.#listenersClosed;
    this.#deps.ownListeners.setInbounds([]);
  }

  /**
   * Closes the listeners, waits up to `graceMs` for live sessions, then ends what is left. Sessions
   * that clients keep open without a flow are not waited for.
   */
  async stop(graceMs: number): Promise<void> {
    await this.closeListeners();
    const owning = [...this.#inbounds.values()].flatMap((inbound) =>
      inbound.kind === 'sessions' ? [inbound.listener] : [],
    );
    owning.push(...this.#departures.listeners);
    for (const listener of owning) listener.endIdle();
    const sides = [...this.#inbounds.values()].map(sideOf).concat(this.#departures.sides);
    const idle = Promise.all(sides.map((side) => side.whenIdle()));
    const { promise: graceOver, resolve } = Promise.withResolvers<void>();
    const timer = this.#deps.clock.after(graceMs, resolve);
    await Promise.race([idle, graceOver]);
    timer.cancel();
    this.#dispatcher.stop();
    for (const side of sides) side.destroy(new LinkClosedError('the proxy is stopping'));
    // Those that a session has left to an origin, which may take its time.
    this.tracker.killMatching({});
    await idle;
    await Promise.all(owning.map(({ closed }) => closed));
    for (const group of this.#balancers.values()) group.stop();
    for (const { version } of this.#outbounds.values()) version.retire();
    this.#resolver.destroy();
    this.tracker.traffic.stop();
  }

  #currentPlane(): Plane {
    if (!this.#plane) throw new RangeError('nothing is dispatched before the first plane is built');
    return this.#plane;
  }

  #refuseStopped(): void {
    this.#stopping.signal.throwIfAborted();
  }

  #stage({ spec, tables }: Wanted, plan: Plan, turns: Turns): Promise<Staged> {
    const running: RunningResources = {
      outbounds: this.#outbounds,
      balancers: this.#balancers,
      inbounds: this.#inbounds,
      plane: this.#plane,
    };
    return stagePlan(plan, tables, running, turns, {
      ...this.#deps,
      tracker: this.tracker,
      dispatcher: this.#dispatcher,
      protocolOf: this.#protocolOf,
      facts: this.#facts,
      newcomers: this.#newcomers,
      resolver: this.#resolver,
      createResolver: () => this.#createResolver(spec.dns),
    });
  }

  #failedInbounds(): Set<string> {
    const tags = new Set<string>();
    for (const [tag, inbound] of this.#inbounds) {
      if (inbound.kind === 'sessions' && inbound.listener.isReleased) tags.add(tag);
    }
    return tags;
  }

  /** @throws {ApplyError} `disruptive` when an inbound would be restarted that has live sessions */
  #refuseDisruption({ inbounds }: Plan): void {
    for (const step of inbounds) {
      if (step.action !== 'restart') continue;
      const { tag } = step.spec;
      const live = this.#inbounds.get(tag)?.listener.tied ?? 0;
      if (live > 0) throw disruptive(tag, step.reason);
    }
  }

  #freedBy({ removed, inbounds }: Plan): FreedListener[] {
    const moved = inbounds.filter(leavesListener).map(({ spec }) => spec.tag);
    const left = [...removed, ...moved].flatMap((tag) => {
      const running = this.#inbounds.get(tag);
      return running ? [{ tag, listener: running.listener, draining: false }] : [];
    });
    return [...left, ...this.#departures.freed];
  }

  *#changesBy({ outbounds, balancers }: Staged): Steps<Changes> {
    return {
      retired: yield* notIn(this.#outbounds, outbounds),
      stoppedGroups: yield* notIn(this.#balancers, balancers),
      startedGroups: yield* notIn(balancers, this.#balancers),
    };
  }

  /**
   * Pointer swaps, in one turn of the event loop; then removed listeners close or drain.
   * @returns the accounts that may have changed, whose sessions without a flow are to end.
   */
  #commit(
    wanted: Wanted,
    plan: Plan,
    staged: Staged,
    exchange: ListenerExchange,
  ): ReadonlySet<Accounts> {
    const { resolver, outbounds, balancers, plane, handlers, streamChanges } = staged;
    if (resolver) this.#resolver.swap(resolver);
    this.#applied = wanted;
    this.#outbounds = outbounds;
    this.#balancers = balancers;
    this.#plane = plane;
    for (const { spec: outbound, version } of plan.outbounds) {
      this.#versions.set(outbound.tag, version);
    }
    const before = this.#inbounds;
    for (const [tag, handler] of handlers) {
      const running = before.get(tag);
      if (running?.kind === 'carriers') running.runtime.swap(handler);
    }
    for (const change of streamChanges.values()) change();
    const { listeners, left } = exchange.commit();
    const inbounds = new Map<string, RunningInbound>();
    for (const { action, spec: inbound } of plan.inbounds) {
      const { tag } = inbound;
      const old = before.get(tag);
      const running = runningInbound(inbound, staged, old, listeners.get(tag));
      if (!running) continue; // a step has either been staged or runs already
      inbounds.set(tag, running);
      const ready = staged.sessions.get(tag)?.ready;
      if (action === 'swap' && ready && running.kind === 'sessions') running.listener.swap(ready);
      if (action !== 'swap' && action !== 'reuse') {
        this.#deps.log.info(`inbound ${tag} listening on ${running.listener.address}`, {
          inbound: tag,
        });
      }
    }
    this.#inbounds = inbounds;
    this.#deps.ownListeners.setInbounds(
      [...inbounds].flatMap(([inbound, { listener }]) =>
        listener.endpoints.map((endpoint) => ({ inbound, ...endpoint })),
      ),
    );
    for (const listener of listeners.values()) this.#departures.release(listener);
    for (const { tag, listener } of left) this.#departures.drain(tag, listener);
    for (const [tag, running] of before) {
      if (running.kind === 'carriers' && inbounds.get(tag)?.kind !== 'carriers') {
        this.#departures.awaitSessions(running.runtime);
      }
    }
    return this.#replaceAccounts(before, inbounds, staged);
  }

  /** Runtimes replace theirs as they get a new handler. */
  #replaceAccounts(
    before: ReadonlyMap<string, RunningInbound>,
    inbounds: ReadonlyMap<string, RunningInbound>,
    { handlers, sessions }: Staged,
  ): ReadonlySet<Accounts> {
    const changed = new Set<Accounts>();
    for (const [tag, inbound] of before) {
      const accounts = accountsOf(memoryOf(inbound));
      const isGone = inbounds.get(tag)?.kind !== inbound.kind;
      if (isGone) accounts.replace(NO_ACCOUNTS);
      if (isGone || handlers.has(tag) || sessions.has(tag)) changed.add(accounts);
    }
    for (const { memory, ready } of sessions.values()) {
      accountsOf(memory).replace(ready.server.accounts ?? NO_ACCOUNTS);
    }
    return changed;
  }

  #createResolver(spec: DnsSpec): OwnedResolver {
    const { clock, log } = this.#deps;
    return createResolver(spec, { clock, log: log.target('svc_app::dns') });
  }
}

const sideOf = (inbound: RunningInbound): LiveSide =>
  inbound.kind === 'carriers' ? inbound.runtime : inbound.listener;

const memoryOf = (inbound: RunningInbound): InboundMemory =>
  inbound.kind === 'carriers' ? inbound.runtime.memory : inbound.memory;

/** What begins and ends with a reload. */
interface Changes {
  readonly retired: readonly BuiltOutbound[];
  readonly stoppedGroups: readonly BalancerGroup[];
  readonly startedGroups: readonly BalancerGroup[];
}

/** Members whose probes begin in one turn: each opens a connection, most of it after its start. */
const PROBES_A_TURN = 16;

async function startAll(groups: readonly BalancerGroup[], turns: Turns): Promise<void> {
  let started = 0;
  for (const group of groups) {
    for (const _ of group.start()) {
      started++;
      if (started % PROBES_A_TURN === 0) await turns.next();
    }
  }
}

/** Stops and drains what was replaced. */
function* endAll({ retired, stoppedGroups }: Changes): Steps<void> {
  for (const group of stoppedGroups) {
    group.stop();
    yield;
  }
  for (const { version } of retired) {
    version.retire();
    yield;
  }
}

/** The values of one map that another does not hold under the same key. */
function* notIn<T>(items: ReadonlyMap<string, T>, others: ReadonlyMap<string, T>): Steps<T[]> {
  const found: T[] = [];
  for (const [tag, item] of items) {
    if (others.get(tag) !== item) found.push(item);
    yield;
  }
  return found;
}

const leavesListener = ({ action }: InboundStep): boolean =>
  action === 'rebind' || action === 'restart';
