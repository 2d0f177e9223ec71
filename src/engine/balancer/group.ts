import type { Logger } from '../../log/logger.ts';
import type { Clock } from '../../net/time/clock.ts';
import type { Steps } from '../../net/time/turns.ts';
import type { BalancerSpec } from '../../spec.ts';
import type { OutboundVersion } from '../outbound-version.ts';
import type { Exit, ExitGroup } from '../routing-snapshot.ts';
import { Balancer } from './balancer.ts';
import { type Health, Prober, type MemberHealth } from './prober.ts';

/** One entry of a balancer's member list; a tag may be listed twice. */
export interface GroupMember {
  readonly version: OutboundVersion;
  /** Connects to the member's server and closes the connection; rejects when it cannot. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
}

export interface GroupDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** A balancer and one prober for each distinct outbound among its members. */
export class BalancerGroup implements Exit, ExitGroup {
  readonly tag: string;
  readonly #balancer: Balancer;
  readonly #probers = new Map<OutboundVersion, Prober>();

  /** @param previous the group with this tag before a reload, from which the health of members is taken */
  constructor(
    spec: BalancerSpec,
    members: readonly GroupMember[],
    previous: BalancerGroup | undefined,
    { clock, log }: GroupDeps,
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

  get group(): ExitGroup {
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
