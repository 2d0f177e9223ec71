import type { FlowInfo } from './flow.ts';

/** Counts of how the flows of one rule began. */
export interface RuleOutcomes {
  /** Flows whose destination was reached. */
  opened: number;
  /** Flows that were sent to a blackhole. */
  blocked: number;
  /**
   * Flows whose destination was not reached. Clients that left before, and flows of a stopping process, do not count.
   */
  failed: number;
  /** Time at which the last of these flows began or failed, in milliseconds of the monotonic clock. */
  lastAt: number;
}

/** The route of a flow that was not opened. */
export interface RefusedRoute {
  /** Index of the rule; `undefined` for the default route. */
  readonly rule: number | undefined;
  /** Epoch of the routing snapshot that made the decision. */
  readonly epoch: number;
  /** Whether the host program has chosen the outbound, or refused the flow: it counts for no rule. */
  readonly isChosen?: boolean | undefined;
}

/** Key of the default route. */
const DEFAULT = -1;

/** Counts how flows began: since the start, and by rule since the rules took effect. */
export class FlowOutcomes {
  blocked = 0;
  failed = 0;
  /** Flows that were refused by a limit of their account. */
  limited = 0;
  /** Time at which the rules took effect, in milliseconds of the monotonic clock. */
  since: number;
  /** Failed dials by the tag of the outbound. */
  readonly #failedDials = new Map<string, number>();
  /** Outcomes by the index of the rule. */
  readonly #rules = new Map<number, RuleOutcomes>();
  #sinceEpoch = 0;

  constructor(now: number) {
    this.since = now;
  }

  get failedDials(): ReadonlyMap<string, number> {
    return this.#failedDials;
  }

  /** Outcomes by the index of the rule, `undefined` for the default route; rules without a flow are omitted. */
  *rules(): Iterable<readonly [rule: number | undefined, outcomes: Readonly<RuleOutcomes>]> {
    for (const [rule, outcomes] of this.#rules) {
      yield [rule === DEFAULT ? undefined : rule, outcomes];
    }
  }

  /** Resets the counts by rule: from the routing snapshot `epoch` on, indexes refer to other rules. */
  rulesChanged(epoch: number, now: number): void {
    this.#rules.clear();
    this.#sinceEpoch = epoch;
    this.since = now;
  }

  opened({ rule, routingEpoch, outbound, isChosen }: FlowInfo, now: number): void {
    // No rule decides on queries to the proxy's own resolver.
    if (outbound === '' || isChosen === true) return;
    const outcomes = this.#of(rule, routingEpoch, now);
    if (outcomes) outcomes.opened++;
  }

  refused(
    outcome: 'blocked' | 'failed',
    { rule, epoch, isChosen }: RefusedRoute,
    now: number,
  ): void {
    this[outcome]++;
    if (isChosen === true) return;
    const outcomes = this.#of(rule, epoch, now);
    if (outcomes) outcomes[outcome]++;
  }

  /** Counts a failed dial; the flow may continue by another outbound. */
  dialFailed(outbound: string): void {
    this.#failedDials.set(outbound, (this.#failedDials.get(outbound) ?? 0) + 1);
  }

  /** Returns the outcomes of a rule; `undefined` for a flow that earlier rules have routed. */
  #of(rule: number | undefined, epoch: number, now: number): RuleOutcomes | undefined {
    if (epoch < this.#sinceEpoch) return undefined;
    const key = rule ?? DEFAULT;
    let outcomes = this.#rules.get(key);
    if (!outcomes) {
      outcomes = { opened: 0, blocked: 0, failed: 0, lastAt: now };
      this.#rules.set(key, outcomes);
    }
    outcomes.lastAt = now;
    return outcomes;
  }
}
