import type { OutboundVersion } from '../outbound-version.ts';
import type { Health } from './prober.ts';

/** Members that one flow tries: each costs a connection, even when all of them are down. */
export const MOST_TRIES = 8;

export type BalancerStrategy = 'failover' | 'round_robin';

export interface Member {
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
