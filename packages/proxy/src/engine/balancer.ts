import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import { type Clock, Deadline, DIAL_MS, type Steps, type Timer } from '@weir/io/time';
import {
  DeadlineError,
  type DialError,
  type DialErrorCode,
  isOfThisHost,
  ServerReach,
} from '@weir/io';
import type { BalancerSpec } from '../spec.ts';
import type { RoutingTarget, TargetGroup, OutboundVersion } from './routing-snapshot.ts';

/** The result of the last probe of a member; `unknown` before the first result. */
export type Health = 'unknown' | 'available' | 'unavailable';

/** A probe with a time limit of 0 could never succeed; timers have a resolution of 1 ms. */
const LEAST_TIMEOUT_MS = 1;

/** Milliseconds between the starts of two probes that dials have caused. */
const LEAST_CHECK_MS = 1_000;

/** The health of a member as its prober knows it. */
interface MemberHealth {
  readonly health: Health;
  /** Time at which the last probe ended, on the clock of the prober; `undefined` before the first. */
  readonly probedAt: number | undefined;
  /** The reason why the last probe failed, if it did. */
  readonly error: string | undefined;
}

interface ProberOptions {
  /** Name of the member in log lines. */
  readonly name: string;
  /** Tag of the member. */
  readonly outbound: string;
  /** Milliseconds from the end of one probe to the start of the next; 0 runs them back to back. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Connects to the member's server and closes the connection; rejects when it cannot. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  /** The health of the member before a reload. */
  readonly initial: Health;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Probes periodically whether one member can be reached. */
export class Prober {
  readonly #options: ProberOptions;
  readonly #stopping = new AbortController();
  #health: Health;
  #probedAt: number | undefined;
  #error: string | undefined;
  /** The timer of the next probe; `undefined` while a probe is running and before the first. */
  #timer: Timer | undefined;
  #isProbing = false;
  /** The health that a dial has found since the running probe began. */
  #found: Exclude<Health, 'unknown'> | undefined;
  /** Time at which the next probe begins, if the timer is set. */
  #dueAt = 0;
  /** Time at which the last probe that a dial has caused began, or will begin. */
  #checkedAt = -Infinity;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#health = options.initial;
  }

  get health(): Health {
    return this.#health;
  }

  get result(): MemberHealth {
    return { health: this.#health, probedAt: this.#probedAt, error: this.#error };
  }

  /** Probes at once and then periodically until `stop`; no effect after `stop`. */
  start(): void {
    if (this.#stopping.signal.aborted) return;
    void this.#probeOnce();
  }

  /**
   * Starts the next probe at once when a dial contradicts the known health; no effect before `start`. One probe runs at
   * a time, and dials cause at most one per second, however many they are.
   *
   * @param found the health that the dial has found
   */
  check(found: Exclude<Health, 'unknown'>): void {
    if (this.#health === found || this.#stopping.signal.aborted) return;
    if (this.#isProbing) this.#found = found;
    else if (this.#timer) this.#probeSoon();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stopping.abort(new Error('the prober has stopped'));
  }

  /** Brings the next probe forward. */
  #probeSoon(): void {
    const { clock } = this.#options;
    const now = clock.now();
    const at = Math.max(this.#checkedAt + LEAST_CHECK_MS, now);
    if (at >= this.#dueAt) return;
    this.#checkedAt = at;
    this.#timer?.cancel();
    if (at === now) void this.#probeOnce();
    else this.#probeAt(at);
  }

  #probeAt(time: number): void {
    const { clock } = this.#options;
    this.#dueAt = time;
    this.#timer = clock.after(time - clock.now(), () => void this.#probeOnce());
  }

  async #probeOnce(): Promise<void> {
    const { clock, timeoutMs, intervalMs, probe } = this.#options;
    this.#timer = undefined;
    this.#isProbing = true;
    this.#found = undefined;
    try {
      using deadline = new Deadline(
        clock,
        Math.max(timeoutMs, LEAST_TIMEOUT_MS),
        'the probe',
        this.#stopping.signal,
      );
      await probe(deadline.signal);
      this.#ended(undefined);
    } catch (error) {
      this.#ended(messageOf(error));
    }
    this.#isProbing = false;
    if (this.#stopping.signal.aborted) return;
    this.#probeAt(clock.now() + intervalMs);
    if (this.#found) this.check(this.#found);
  }

  /** Logs changes of the health only. @param error the reason why the probe failed */
  #ended(error: string | undefined): void {
    if (this.#stopping.signal.aborted) return;
    const { clock, log, name, outbound } = this.#options;
    this.#probedAt = clock.now();
    this.#error = error;
    const health = error === undefined ? 'available' : 'unavailable';
    if (health === this.#health) return;
    if (error !== undefined) {
      log.warn(`${name} is unavailable: ${error}`, { outbound, error });
    } else if (this.#health === 'unavailable') log.info(`${name} is available again`, { outbound });
    else log.debug(`${name} is available`, { outbound });
    this.#health = health;
  }
}

/** Members that one flow tries: each costs a connection, even when all of them are down. */
export const MOST_TRIES = 8;

export type BalancerStrategy = 'failover' | 'round_robin';

interface Member {
  readonly version: OutboundVersion;
  readonly health: () => Health;
}

/**
 * A group of interchangeable outbounds: each new flow uses one that is available.
 *
 * If none is known to be available, members that were not probed yet are used; if all are unavailable, the
 * first one, so that the client gets the error of a real dial.
 */
export class Balancer {
  readonly #members: readonly Member[];
  readonly #strategy: BalancerStrategy;
  #turn = 0;

  /**
   * Creates a balancer.
   * @param members at least one
   */
  constructor(members: readonly Member[], strategy: BalancerStrategy) {
    this.#members = members;
    this.#strategy = strategy;
  }

  pick(): OutboundVersion {
    const candidates = this.#candidates();
    const turn = this.#strategy === 'round_robin' ? this.#turn++ % candidates.length : 0;
    const member = candidates[turn];
    if (!member) throw new RangeError('a balancer has at least one member');
    return member.version;
  }

  /**
   * Returns the next member for failover, for a flow whose tries of other members failed: in the order of health and
   * then of the list. Includes unavailable members, which may have recovered.
   */
  next(tried: ReadonlySet<OutboundVersion>): OutboundVersion | undefined {
    if (this.#strategy !== 'failover' || tried.size >= MOST_TRIES) return undefined;
    for (const wanted of ['available', 'unknown', 'unavailable'] as const) {
      for (const { version, health } of this.#members) {
        if (!tried.has(version) && !version.retired && health() === wanted) return version;
      }
    }
    return undefined;
  }

  #candidates(): readonly Member[] {
    for (const wanted of ['available', 'unknown'] as const) {
      const some = this.#members.filter(({ health }) => health() === wanted);
      if (some.length > 0) return some;
    }
    return this.#members.slice(0, 1);
  }
}

/** One entry of a balancer's member list; a tag may be listed twice. */
export interface GroupMember {
  readonly version: OutboundVersion;
  /** Connects to the member's server and closes the connection; rejects when it cannot. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
}

/** A balancer and one prober for each distinct outbound among its members. */
export class BalancerGroup implements RoutingTarget, TargetGroup {
  readonly tag: string;
  readonly #balancer: Balancer;
  readonly #probers = new Map<OutboundVersion, Prober>();

  /** @param previous the group with this tag before a reload, from which the health of members is taken */
  constructor(
    spec: BalancerSpec,
    members: readonly GroupMember[],
    previous: BalancerGroup | undefined,
    { clock, log }: { readonly clock: Clock; readonly log: Logger },
  ) {
    this.tag = spec.tag;
    for (const { version, probe } of members) {
      if (this.#probers.has(version)) continue;
      const prober = new Prober({
        name: `balancer ${spec.tag}: outbound ${version.tag}`,
        outbound: version.tag,
        intervalMs: spec.probeInterval * 1000,
        timeoutMs: spec.probeTimeout * 1000,
        initial: previous?.healthOf(version) ?? 'unknown',
        probe,
        clock,
        log,
      });
      this.#probers.set(version, prober);
    }
    this.#balancer = new Balancer(
      members.map(({ version }) => ({ version, health: () => this.healthOf(version) })),
      spec.strategy,
    );
  }

  /** Starts probing, one member per step; nothing is opened before. */
  *start(): Steps<void> {
    for (const prober of this.#probers.values()) {
      prober.start();
      yield;
    }
  }

  stop(): void {
    for (const prober of this.#probers.values()) prober.stop();
  }

  get group(): TargetGroup {
    return this;
  }

  pick(): OutboundVersion {
    return this.#balancer.pick();
  }

  next(tried: ReadonlySet<OutboundVersion>): OutboundVersion | undefined {
    return this.#balancer.next(tried);
  }

  missed(version: OutboundVersion): void {
    this.#probers.get(version)?.check('unavailable');
  }

  reached(version: OutboundVersion): void {
    this.#probers.get(version)?.check('available');
  }

  /** The distinct members in order, with the results of their probes. */
  get members(): readonly { readonly outbound: string; readonly result: MemberHealth }[] {
    return [...this.#probers].map(([{ tag }, { result }]) => ({ outbound: tag, result }));
  }

  healthOf(version: OutboundVersion): Health {
    return this.#probers.get(version)?.health ?? 'unknown';
  }
}

/** Milliseconds after which a dial that its client has aborted counts as failed. */
export const SLOW_DIAL_MS = 2_000;

/** Failures that do not concern a member's server, however far the dial had come. */
const NOT_OF_SERVER: ReadonlySet<DialErrorCode> = new Set([
  'blocked',
  'loop',
  'forbidden',
  'unsupported',
]);

/**
 * The tries of one dial through a group: when a member's server was not reached, the failure is reported to the group,
 * which may name another member for the rest of the dial's time limit. A server's report about the destination is
 * final.
 */
export class MemberTries {
  readonly #group: TargetGroup;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #limit: AbortSignal;
  readonly #tried = new Set<OutboundVersion>();
  #reach = new ServerReach();
  #timer: Timer | undefined;

  /** @param limit the time limit of the whole dial */
  constructor(group: TargetGroup, clock: Clock, limit: AbortSignal) {
    this.#group = group;
    this.#clock = clock;
    this.#limit = limit;
    this.#startedAt = clock.now();
  }

  /**
   * Begins a try. While another member remains, the server has to be reached in half of the remaining time.
   *
   * @returns options for the outbound
   */
  begin(version: OutboundVersion): { readonly signal: AbortSignal; readonly reach: ServerReach } {
    this.#tried.add(version);
    const reach = new ServerReach();
    this.#reach = reach;
    if (!this.#group.next(this.#tried)) return { signal: this.#limit, reach };
    const own = new AbortController();
    const half = Math.ceil((this.#startedAt + DIAL_MS - this.#clock.now()) / 2);
    this.#timer = this.#clock.after(half, () => {
      if (!reach.isReached) {
        own.abort(new DeadlineError(`no connection to the server within ${half / 1000} s`));
      }
    });
    return { signal: AbortSignal.any([this.#limit, own.signal]), reach };
  }

  /** Records a successful try. */
  succeeded(version: OutboundVersion): void {
    this.#timer?.cancel();
    this.#group.reached(version);
  }

  /**
   * Records a failed try.
   *
   * @param hasDestination `false` for an association, about which a server reports only its own failures
   * @returns the member to try next, if any
   */
  failed(
    version: OutboundVersion,
    error: DialError,
    hasDestination: boolean,
  ): OutboundVersion | undefined {
    this.#timer?.cancel();
    if (!this.#isServers(error, hasDestination)) return undefined;
    this.#group.missed(version);
    return this.#limit.aborted ? undefined : this.#group.next(this.#tried);
  }

  #isServers(error: DialError, hasDestination: boolean): boolean {
    if (NOT_OF_SERVER.has(error.code) || isOfThisHost(error)) return false;
    if (error.code === 'aborted' && this.#clock.now() - this.#startedAt < SLOW_DIAL_MS)
      return false;
    // Without a destination, every failure but an unsuitable request is the server's.
    return this.#reach.isMissed || (!hasDestination && !this.#reach.isUntried);
  }
}
