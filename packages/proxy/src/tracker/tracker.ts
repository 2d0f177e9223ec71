import { ChurnMap } from '@weir/base/collections';
import { type Clock, inSteps, type Steps, Turns } from '@weir/io/time';
import { endInTurns, type WireCounter } from '@weir/io/links';
import type { ConnectionChain } from '@weir/io/net/own-listeners';
import {
  type ByteCounter,
  CounterSlab,
  Flow,
  type FlowInfo,
  type FlowRegistry,
  type Session,
} from './flow.ts';
import { FlowEvents } from './flow-events.ts';
import { FlowOutcomes } from './flow-outcomes.ts';
import { AccountLimits } from '../limits/account-limits.ts';
import type { LimitsSpec } from '../limits/spec.ts';
import { limitReached } from './limit-errors.ts';
import { TrafficSampler, TrafficTotals } from './traffic.ts';
import { Usage, type UsageReport } from './usage.ts';

/** A registered session; the caller of `openSession` closes it. */
export interface LiveSession extends Session {
  /** Wire bytes from the client, protocol overhead included. */
  readonly up: number;
  /** Wire bytes to the client. */
  readonly down: number;
  /** Sets the client's new address after a migration. */
  moveTo(source: string | undefined): void;
  close(): void;
}

/** Selects flows to close; a flow matches when every given field does. */
export interface FlowSelector {
  readonly outbound?: string | undefined;
  readonly inbound?: string | undefined;
  readonly session?: number | undefined;
  readonly user?: string | undefined;
}

/**
 * The registry of live sessions and flows, across reloads.
 *
 * Ids increase in the order of registration and are never reused. `sessions` and `flows` return snapshots
 * in the order of ids.
 */
export class Tracker implements FlowRegistry {
  readonly events = new FlowEvents();
  readonly outcomes: FlowOutcomes;
  readonly traffic: TrafficSampler;
  /** The limits of accounts, by the name of the account. */
  readonly limits: AccountLimits<Flow>;
  readonly #clock: Clock;
  readonly #slab = new CounterSlab();
  readonly #totals = new TrafficTotals();
  readonly #usage = new Usage();
  readonly #sessions = new ChurnMap<number, SessionRecord>();
  readonly #flows = new ChurnMap<number, Flow>();
  #lastSession = 0;
  #lastFlow = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.outcomes = new FlowOutcomes(clock.now());
    this.limits = new AccountLimits({
      clock,
      close: (flows, user, limit) => killFlows(flows, limitReached(user, limit)).count,
    });
    this.traffic = new TrafficSampler(clock, (tick, intervalMs) =>
      this.#totals.sample(this.#flows.values(), tick, intervalMs),
    );
  }

  openSession(
    inbound: string,
    source: string | undefined,
    wire: WireCounter,
    chain?: ConnectionChain,
    onAuthenticated?: () => void,
  ): LiveSession {
    const id = ++this.#lastSession;
    const startedAt = this.#clock.now();
    const sessions = this.#sessions;
    const session = new SessionRecord(id, inbound, source, startedAt, wire, chain, sessions);
    session.onAuthenticated = onAuthenticated;
    sessions.set(id, session);
    return session;
  }

  /**
   * Registers a flow, which the caller closes.
   * @param kill called to end the flow at an operator's request, or with the cause of its end
   */
  openFlow(info: FlowInfo, kill: (cause?: Error) => void): Flow {
    const counter = this.#slab.take();
    const now = this.#clock.now();
    const flow = new Flow(
      ++this.#lastFlow,
      info,
      now,
      counter,
      this.#usage.opened(info),
      kill,
      this,
    );
    this.#flows.set(flow.id, flow);
    flow.meterBy(this.limits.meterOf(info.account?.name));
    this.#totals.opened(flow);
    this.outcomes.opened(info, now);
    if (info.session instanceof SessionRecord) info.session.bindUser(info.user);
    this.events.publish({ kind: 'opened', flow });
    return flow;
  }

  /** @internal called by `Flow.close` */
  flowClosed(flow: Flow, counter: ByteCounter): void {
    this.#flows.delete(flow.id);
    this.#totals.closed(flow);
    this.#usage.closed(flow);
    this.events.publish({ kind: 'closed', flow });
    this.#slab.release(counter);
  }

  /**
   * Replaces the limits of accounts, those of open flows as well, in turns of the event loop: there may be tens of thousands
   * of either. See `AccountLimits.apply`.
   */
  applyLimits(spec: LimitsSpec): Promise<void> {
    return new Turns(this.#clock).run(this.#limited(spec));
  }

  *#limited(spec: LimitsSpec): Steps<void> {
    yield* this.limits.apply(spec);
    yield* inSteps(this.#flows.values(), (flow) => {
      const { account } = flow.info;
      const meter = this.limits.meterOf(account?.name);
      // The limits of a user who is removed go with the user: they still hold for what is open.
      if (meter || account?.isValid !== false) flow.meterBy(meter);
    });
    yield* this.limits.tick();
  }

  sessions(): LiveSession[] {
    return [...this.#sessions.values()];
  }

  flows(): Flow[] {
    return [...this.#flows.values()];
  }

  flow(id: number): Flow | undefined {
    return this.#flows.get(id);
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  get flowCount(): number {
    return this.#flows.size;
  }

  /**
   * Returns bytes and flows since the start, by account, inbound, outbound, source and host; the bytes of open flows
   * up to now are included.
   * @param since the sequence of an earlier report: only what has changed since; 0 for all
   */
  usage(since?: number): UsageReport {
    return this.#usage.report(this.#flows.values(), since);
  }

  /** Number of sessions since the start. */
  get sessionsOpened(): number {
    return this.#lastSession;
  }

  /** Number of flows since the start. */
  get flowsOpened(): number {
    return this.#lastFlow;
  }

  /** Kills every live flow that matches, see `killFlows`. */
  killMatching(selector: FlowSelector): KilledFlows {
    return killFlows(this.flows().filter((flow) => matches(selector, flow)));
  }
}

/** Flows killed by a command. */
export interface KilledFlows {
  /** Number of flows that were not killed before. */
  readonly count: number;
  /** Resolves when all of these flows have ended. */
  readonly ended: Promise<void>;
}

/**
 * Kills live flows: marks all at once, and ends each in this or a later turn of the event loop.
 * @param cause the error of their links; by default that an operator has closed them
 */
export function killFlows(flows: readonly Flow[], cause?: Error): KilledFlows {
  const killed = flows.filter((flow) => flow.markKilled());
  return { count: killed.length, ended: endInTurns(killed, (flow) => flow.endKilled(cause)) };
}

function matches({ outbound, inbound, session, user }: FlowSelector, { info }: Flow): boolean {
  return (
    (outbound === undefined || info.outbound === outbound) &&
    (inbound === undefined || info.inbound === inbound) &&
    (session === undefined || info.session?.id === session) &&
    (user === undefined || info.user === user)
  );
}

class SessionRecord implements LiveSession {
  readonly id: number;
  readonly inbound: string;
  source: string | undefined;
  readonly startedAt: number;
  readonly chain: ConnectionChain | undefined;
  user: string | undefined;
  isFresh = false;
  /** Called once, when `authenticated` is first called. */
  onAuthenticated: (() => void) | undefined;
  readonly #wire: WireCounter;
  /** Counters added by `attach`. */
  #others: WireCounter[] | undefined;
  readonly #sessions: ChurnMap<number, SessionRecord>;

  constructor(
    id: number,
    inbound: string,
    source: string | undefined,
    startedAt: number,
    wire: WireCounter,
    chain: ConnectionChain | undefined,
    sessions: ChurnMap<number, SessionRecord>,
  ) {
    this.id = id;
    this.inbound = inbound;
    this.source = source;
    this.startedAt = startedAt;
    this.chain = chain;
    this.#wire = wire;
    this.#sessions = sessions;
  }

  get up(): number {
    let bytes = this.#wire.bytesRead;
    for (const wire of this.#others ?? []) bytes += wire.bytesRead;
    return bytes;
  }

  get down(): number {
    let bytes = this.#wire.bytesWritten;
    for (const wire of this.#others ?? []) bytes += wire.bytesWritten;
    return bytes;
  }

  attach(wire: WireCounter): void {
    (this.#others ??= []).push(wire);
  }

  authenticated(): void {
    const { onAuthenticated } = this;
    this.onAuthenticated = undefined;
    onAuthenticated?.();
  }

  moveTo(source: string | undefined): void {
    this.source = source;
  }

  /** Sets the user of the session; only its first flow does. */
  bindUser(user: string | undefined): void {
    this.user ??= user;
  }

  close(): void {
    this.#sessions.delete(this.id);
  }
}
