import { KeptObjects } from '@weir/base/collections';
import { DnsOutbound, FlowDispatcher, LocalFlows, type RoutingSnapshot } from '@weir/proxy/engine';
import type { BalancerGroup, OutboundVersion, RoutingTarget } from '@weir/proxy/engine';
import type { RegexCache } from '@weir/proxy/names';
import { createResolver, loadExchange, type OwnedResolver } from '@weir/proxy/dns';
import { messageOf } from '@weir/base';
import type { PacketTaps } from '@weir/base/ip/packet-device';
import type { Logger } from '@weir/base/log';
import { type Clock, Turns } from '@weir/io/time';
import { LinkClosedError } from '@weir/io';
import type { OwnListeners } from '@weir/io/net/own-listeners';
import { systemSockets } from '@weir/io/sockets';
import type { DnsSpec, RouteGroupSpec } from '@weir/proxy/spec';
import type { Accounts } from '@weir/proxy/protocols';
import type { Hooks } from '@weir/proxy/hooks';
import { Tracker } from '@weir/proxy/tracker';
import { UnauthenticatedClients } from '@weir/proxy/accept';
import { type AppliedReport, ApplyError, cutLine } from './reload-report.ts';
import { type BuiltOutbound, ResolverHandle } from './build.ts';
import { Drain, DrainingInbounds, type LiveSide } from './drain.ts';
import {
  type InboundFacts,
  inboundFacts,
  type ProtocolOf,
  type ReopenableListener,
} from './inbound-listener.ts';
import { inboundProtocol, loadProtocols } from '@weir/proxy/protocols';
import { disruptive, ListenerExchange, type FreedListener } from './listener-exchange.ts';
import { planReload, reportOf, type InboundStep, type Plan } from './plan.ts';
import {
  changesBetween,
  endReplaced,
  nameAccounts,
  replaceAccounts,
  type RunningInbound,
  type RunningResources,
  type Staged,
  stagePlan,
  startGroups,
} from './stage.ts';
import { runningInbound, desiredListeners } from './desired-listeners.ts';
import { boundListeners } from './bound-listeners.ts';
import type { ListenerView } from './listener-view.ts';
import type { DesiredState } from './desired-state.ts';

interface SupervisorDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** The listeners of the inbounds, kept up to date. */
  readonly ownListeners: OwnListeners;
  /** Compiled patterns, kept across reloads: see RegexCache. */
  readonly regexes: RegexCache;
  /** Captures the packets of TUN inbounds. */
  readonly capture?: PacketTaps | undefined;
  /** The hooks of the host program. */
  readonly hooks?: Hooks | undefined;
  /** Returns the protocol of a name; by default from the registry. */
  readonly protocolOf?: ProtocolOf | undefined;
}

/** The current routing of flows, and the epoch since which rule indexes have their meaning. */
interface RuleIndexes {
  readonly epoch: number;
  /** Epoch of the first routing snapshot with these rules and groups: only their targets have changed since. */
  readonly rulesSince: number;
  readonly groups: readonly RouteGroupSpec[];
}

export interface ApplyOptions {
  /** Listeners of the API that release their addresses, which inbounds may use. */
  readonly apiListeners?: readonly ReopenableListener[];
  /** Called when all listeners are bound and before any is served; `apply` fails when it rejects. */
  readonly bound?: () => Promise<void>;
  /** Called in the turn of the commit, in which accounts change. */
  readonly committed?: (() => void) | undefined;
}

/**
 * Turns a configuration into running resources, at the start and in reloads, and stops them.
 *
 * A reload first builds and binds all new resources. If that succeeds, it swaps pointers; until then nothing is
 * committed, and if it fails, listeners that were closed early are rebound where possible. Live flows keep the outbound
 * version, and live sessions the handler, that they started with.
 */
export class Supervisor {
  readonly tracker: Tracker;
  /** Flows that the host program opens. */
  readonly local: LocalFlows;
  readonly #deps: SupervisorDeps;
  readonly #dispatcher: FlowDispatcher;
  readonly #resolver: ResolverHandle;
  readonly #versions = new Map<string, number>();
  readonly #protocolOf: ProtocolOf;
  readonly #facts: InboundFacts;
  readonly #departures = new DrainingInbounds();
  readonly #shared = new KeptObjects();
  readonly #stopped = new AbortController();
  readonly #unauthenticated = UnauthenticatedClients.within(systemSockets().descriptorLimit);
  /** The configuration in force. */
  #applied: DesiredState | undefined;
  #outbounds: ReadonlyMap<string, BuiltOutbound> = new Map();
  #balancers: ReadonlyMap<string, BalancerGroup> = new Map();
  #inbounds: ReadonlyMap<string, RunningInbound> = new Map();
  #snapshot: RoutingSnapshot | undefined;
  #rulesSince = 0;
  readonly #stopping = new AbortController();
  readonly #listenerObservers = new Set<() => void>();
  readonly drain: Drain;
  #listenersClosed: Promise<unknown> | undefined;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#protocolOf = deps.protocolOf ?? inboundProtocol;
    this.#facts = inboundFacts(this.#protocolOf);
    this.tracker = new Tracker(deps.clock);
    this.#resolver = new ResolverHandle(this.#createResolver({ backend: 'system' }));
    this.#dispatcher = new FlowDispatcher({
      tracker: this.tracker,
      clock: deps.clock,
      log: deps.log,
      snapshot: () => this.#currentSnapshot(),
      target: (tag) => this.#target(tag),
      hooks: deps.hooks,
      resolver: new DnsOutbound(this.#resolver, deps.clock),
    });
    this.local = new LocalFlows({
      dispatcher: this.#dispatcher,
      tracker: this.tracker,
      ownListeners: deps.ownListeners,
      clock: deps.clock,
    });
    this.drain = new Drain({
      clock: deps.clock,
      log: deps.log,
      tracker: this.tracker,
      departures: this.#departures,
      unauthenticated: this.#unauthenticated,
      inbounds: () => this.#inbounds,
      changed: () => this.#publishListeners(),
    });
    this.tracker.traffic.start();
  }

  /** Number of served inbounds. */
  get inbounds(): number {
    return this.#inbounds.size;
  }

  /** The addresses that inbounds are bound to; none before the first configuration and after a stop. */
  get listeners(): readonly ListenerView[] {
    if (!this.#applied || this.#listenersClosed) return [];
    const isDraining = this.drain.since !== undefined;
    return boundListeners(isDraining ? new Map() : this.#inbounds, this.#applied);
  }

  /** Calls back when listeners may have changed, until the returned function is called. */
  onListeners(changed: () => void): () => void {
    this.#listenerObservers.add(changed);
    return () => this.#listenerObservers.delete(changed);
  }

  /** The configuration in force; `undefined` before the first was applied. */
  get applied(): DesiredState | undefined {
    return this.#applied;
  }

  /** Clients that have not authenticated. */
  get unauthenticated(): Pick<UnauthenticatedClients, 'count' | 'limit'> {
    return this.#unauthenticated;
  }

  /** The epochs that give the rule indexes of flows their meaning. */
  get routing(): RuleIndexes {
    const { groups = [] } = this.#applied ?? {};
    return { epoch: this.#snapshot?.epoch ?? 0, rulesSince: this.#rulesSince, groups };
  }

  /**
   * Returns the outbound with this tag, or a member of the balancer with it. The routing snapshot may lack either: it
   * has only the targets of rules, and is kept as long as these do not change.
   */
  pick(tag: string): OutboundVersion | undefined {
    return this.#target(tag)?.pick();
  }

  #target(tag: string): RoutingTarget | undefined {
    const version = this.#outbounds.get(tag)?.version;
    return this.#balancers.get(tag) ?? (version && { pick: () => version });
  }

  /** The routing snapshot that routes new flows; `undefined` before the first configuration was applied. */
  get snapshot(): RoutingSnapshot | undefined {
    return this.#snapshot;
  }

  /**
   * Applies a configuration. One call at a time. First loads the modules that it needs, builds and binds; then, in this
   * order:
   *
   * 1. commits in one turn of the event loop: resolver, snapshot, handlers, stream settings, listeners, accounts;
   * 2. starts the probes of new balancer groups;
   * 3. ends sessions of removed accounts;
   * 4. stops replaced balancer groups and retires replaced outbounds, which close after their last flow.
   *
   * @throws {ApplyError}
   * @throws the error of `bound`; nothing was committed, and listeners closed early were rebound where possible
   */
  async apply(
    wanted: DesiredState,
    { apiListeners = [], bound, committed }: ApplyOptions = {},
  ): Promise<AppliedReport> {
    this.#refuseStopped();
    this.drain.refuseChanges();
    const turns = new Turns(this.#deps.clock);
    await loadProtocolsOf(wanted);
    const running = {
      applied: this.#applied,
      versions: this.#versions,
      failed: this.#failedInbounds(),
    };
    const plan = await turns.run(planReload(running, wanted, this.#facts));
    this.#refuseDisruption(plan);
    const staged = await this.#stage(wanted, plan, turns);
    const changes = await turns.run(changesBetween(this.running, staged));
    const exchange = new ListenerExchange(this.#freedBy(plan), apiListeners, this.#deps.log);
    const { signal } = this.#stopping;
    try {
      await exchange.bind(
        desiredListeners(plan, staged, this.#inbounds, this.#facts),
        turns,
        signal,
      );
      await bound?.();
      this.#refuseStopped();
    } catch (error) {
      await exchange.rollBack(!signal.aborted);
      throw error;
    }
    const accounts = this.#commit(wanted, plan, staged, exchange);
    committed?.();
    // Not awaited: there may be thousands of members.
    void startGroups(changes.startedGroups, new Turns(this.#deps.clock));
    const onFailure = (error: unknown): void => {
      this.#deps.log.error(`the session of a removed account goes on: ${messageOf(error)}`);
    };
    for (const changed of accounts) await changed.endIdle(turns, onFailure);
    await turns.run(endReplaced(changes));
    return turns.run(reportOf(plan));
  }

  /**
   * Builds all resources, which need no release, without binding listeners or changing what runs.
   * @throws {ApplyError} as `apply`, but never because of a listener or of live connections
   */
  async check(wanted: DesiredState): Promise<void> {
    this.drain.refuseChanges();
    const turns = new Turns(this.#deps.clock);
    await loadProtocolsOf(wanted);
    const nothing = { applied: undefined, versions: new Map<string, number>() };
    const plan = await turns.run(planReload(nothing, wanted, this.#facts));
    await this.#stage(wanted, plan, turns);
  }

  /**
   * Closes the listeners, and aborts a reload that is binding some. Open flows continue; live sessions
   * cannot open new ones.
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
   * Performs the first part of a stop: closes the listeners, and aborts a reload that is binding some. With a grace
   * period above LAST_GRACE_MS this first is a drain.
   */
  async beginStop(graceMs: number): Promise<void> {
    if (graceMs <= LAST_GRACE_MS) return this.closeListeners();
    this.#stopping.abort(new ApplyError('stopped', 'the proxy is stopping'));
    await this.drain.begin(true);
  }

  /**
   * Closes the listeners, waits up to `graceMs` for live sessions, and ends the rest, which is logged. It does not wait
   * for sessions that clients keep open without a flow. New flows of live sessions are refused only in the last
   * LAST_GRACE_MS.
   */
  async stop(graceMs: number): Promise<void> {
    const lastMs = Math.min(graceMs, LAST_GRACE_MS);
    await this.beginStop(graceMs);
    if (graceMs > lastMs) await this.#within(graceMs - lastMs, this.drain.over);
    this.drain.end();
    await this.closeListeners();
    const owning = [...this.#inbounds.values()].flatMap((inbound) =>
      inbound.kind === 'sessions' ? [inbound.listener] : [],
    );
    owning.push(...this.#departures.listeners);
    for (const listener of owning) listener.endIdle();
    const sides = [...this.#inbounds.values()].map(sideOf);
    sides.push(...this.#departures.sides, this.local);
    const idle = Promise.all(sides.map((side) => side.whenIdle()));
    await this.#within(lastMs, idle);
    const cut = this.tracker.flowCount;
    if (cut > 0) this.#deps.log.warn(cutLine(cut, graceMs));
    this.#dispatcher.stop();
    for (const side of sides) side.destroy(new LinkClosedError('the proxy is stopping'));
    // Flows that have outlived their session and wait for the origin server.
    await this.tracker.killMatching({}).ended;
    await idle;
    await Promise.all(owning.map(({ closed }) => closed));
    for (const group of this.#balancers.values()) group.stop();
    this.#stopped.abort();
    for (const { version } of this.#outbounds.values()) version.retire();
    this.#resolver.destroy();
    this.tracker.traffic.stop();
  }

  async #within(limitMs: number, done: Promise<unknown>): Promise<void> {
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    const timer = this.#deps.clock.after(limitMs, resolve);
    await Promise.race([done, isOver]);
    timer.cancel();
  }

  #currentSnapshot(): RoutingSnapshot {
    if (!this.#snapshot)
      throw new RangeError('nothing is dispatched before the first routing snapshot is built');
    return this.#snapshot;
  }

  #refuseStopped(): void {
    this.#stopping.signal.throwIfAborted();
  }

  #stage({ spec, tables }: DesiredState, plan: Plan, turns: Turns): Promise<Staged> {
    return stagePlan(plan, tables, this.running, turns, {
      ...this.#deps,
      tracker: this.tracker,
      dispatcher: this.#dispatcher,
      protocolOf: this.#protocolOf,
      facts: this.#facts,
      unauthenticated: this.#unauthenticated,
      shared: this.#shared,
      stopped: this.#stopped.signal,
      resolver: this.#resolver,
      createResolver: async () => {
        await loadExchange(spec.dns);
        return this.#createResolver(spec.dns);
      },
    });
  }

  /** The running resources. */
  get running(): RunningResources {
    return {
      outbounds: this.#outbounds,
      balancers: this.#balancers,
      inbounds: this.#inbounds,
      snapshot: this.#snapshot,
    };
  }

  #failedInbounds(): Set<string> {
    const tags = new Set<string>();
    for (const [tag, inbound] of this.#inbounds) {
      if (inbound.kind === 'sessions' && inbound.listener.isReleased) tags.add(tag);
    }
    return tags;
  }

  /**
   * Refuses a plan that would end live sessions.
   * @throws {ApplyError} `disruptive` when an inbound with live sessions would be restarted
   */
  #refuseDisruption({ inbounds }: Plan): void {
    for (const step of inbounds) {
      if (step.action !== 'restart') continue;
      const { tag } = step.spec;
      const live = this.#inbounds.get(tag)?.listener.tied ?? 0;
      if (live > 0) throw disruptive(tag, step.reason);
    }
  }

  #freedBy({ removed, inbounds }: Plan): FreedListener[] {
    const moved = inbounds.filter(movesAway).map(({ spec }) => spec.tag);
    const freed = [...removed, ...moved].flatMap((tag) => {
      const running = this.#inbounds.get(tag);
      return running ? [{ tag, listener: running.listener, draining: false }] : [];
    });
    return [...freed, ...this.#departures.freed];
  }

  /**
   * Swaps pointers, in one turn of the event loop; then removed listeners close or drain.
   * @returns the accounts that may have changed: sessions of removed ones without a flow have to end
   */
  #commit(
    wanted: DesiredState,
    plan: Plan,
    staged: Staged,
    exchange: ListenerExchange,
  ): ReadonlySet<Accounts> {
    const { resolver, outbounds, balancers, snapshot } = staged;
    if (resolver) this.#resolver.swap(resolver);
    if (this.#applied?.digests.matchers !== wanted.digests.matchers) {
      this.#rulesSince = snapshot.epoch;
      this.tracker.outcomes.rulesChanged(snapshot.epoch, this.#deps.clock.now());
    }
    this.#applied = wanted;
    this.#outbounds = outbounds;
    this.#balancers = balancers;
    this.#snapshot = snapshot;
    for (const { spec: outbound, version } of plan.outbounds) {
      this.#versions.set(outbound.tag, version);
    }
    const before = this.#inbounds;
    for (const [tag, next] of staged.inbounds) {
      const running = before.get(tag);
      if (next.kind === 'sessions' || running?.kind !== 'carriers') continue;
      running.runtime.swap(next.handler);
      if (next.kind === 'handler') next.changeStream?.();
    }
    const { listeners, retired } = exchange.commit();
    const inbounds = new Map<string, RunningInbound>();
    for (const { action, spec: inbound } of plan.inbounds) {
      const { tag } = inbound;
      const next = staged.inbounds.get(tag);
      const running = runningInbound(inbound, next, before.get(tag), listeners.get(tag));
      if (!running) continue; // a step has either been staged or runs already
      inbounds.set(tag, running);
      if (action === 'swap' && next?.kind === 'sessions' && running.kind === 'sessions') {
        running.listener.swap(next.ready);
      }
      if (action !== 'swap' && action !== 'reuse') {
        this.#deps.log.info(`inbound ${tag} listening on ${running.listener.address}`, {
          inbound: tag,
        });
      }
    }
    this.#inbounds = inbounds;
    this.#publishListeners();
    for (const listener of listeners.values()) this.#departures.release(listener);
    for (const { tag, listener } of retired) this.#departures.drain(tag, listener);
    for (const [tag, running] of before) {
      if (running.kind === 'carriers' && inbounds.get(tag)?.kind !== 'carriers') {
        this.#departures.awaitSessions(running.runtime);
      }
    }
    nameAccounts(inbounds, wanted.accountNames);
    return replaceAccounts(before, inbounds, staged.inbounds);
  }

  /** Publishes the open listeners only: flows to the address of a closed one may be meant for another process. */
  #publishListeners(): void {
    const draining = this.drain.since !== undefined;
    this.#deps.ownListeners.setInbounds(
      [...this.#inbounds].flatMap(([inbound, { kind, listener }]) =>
        draining && kind === 'carriers'
          ? []
          : listener.endpoints.map((endpoint) => ({ inbound, ...endpoint })),
      ),
    );
    for (const changed of this.#listenerObservers) changed();
  }

  #createResolver(spec: DnsSpec): OwnedResolver {
    const { clock, log } = this.#deps;
    return createResolver(spec, { clock, log: log.target('svc_app::dns') });
  }
}

/** The last part of a grace period, in which no new flow begins: it would be ended with the others. */
const LAST_GRACE_MS = 5_000;

/** Loads the protocols that a configuration names. @throws {ApplyError} `build_failed` */
async function loadProtocolsOf({ spec: { inbounds, outbounds } }: DesiredState): Promise<void> {
  try {
    await loadProtocols(new Set([...inbounds, ...outbounds].map(({ protocol }) => protocol)));
  } catch (error) {
    throw new ApplyError('build_failed', messageOf(error), { cause: error });
  }
}

const sideOf = (inbound: RunningInbound): LiveSide =>
  inbound.kind === 'carriers' ? inbound.runtime : inbound.listener;

const movesAway = ({ action }: InboundStep): boolean => action === 'rebind' || action === 'restart';
