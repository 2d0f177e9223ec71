import type { Clock } from '@weir/io/time';
import {
  AccountMeter,
  type AccountState,
  type LimitedFlow,
  type ReachedLimit,
} from './account-meter.ts';
import { periodStart } from './periods.ts';
import { type AccountRule, type LimitsSpec, NO_LIMITS } from './spec.ts';

/** Accounts with limits, and used bytes that are kept of other accounts. */
const MOST_ACCOUNTS = 100_000;

/** Milliseconds between two reports that a new device of an account was refused. */
const DEVICES_AGAIN_MS = 60_000;

/** An account has reached a limit, or works again. */
export interface LimitChange {
  readonly user: string;
  readonly state: ReachedLimit | 'open';
  /** Number of flows that were closed. */
  readonly closed: number;
}

/** What limits of accounts need of the engine. */
export interface LimitsHost<F> {
  readonly clock: Clock;
  /** Closes flows; returns the number of those that were open. */
  readonly close: (flows: readonly F[], user: string, limit: 'bytes' | 'until') => number;
}

/**
 * The accounts that have limits, by name.
 *
 * A process without limits asks `meterOf` for each flow and gets `undefined`; nothing else is done for accounts without.
 */
export class AccountLimits<F extends LimitedFlow = LimitedFlow> {
  /** Called when an account has reached a limit, once, and when it works again. */
  onChange: ((change: LimitChange) => void) | undefined;
  readonly #host: LimitsHost<F>;
  readonly #meters = new Map<string, AccountMeter<F>>();
  /** Used bytes of accounts that have no limits now, or no flow since the start. */
  readonly #kept = new Map<string, AccountState>();
  #spec: LimitsSpec = NO_LIMITS;
  /** Whether any account has limits. */
  #inForce = false;
  #changed = false;

  constructor(host: LimitsHost<F>) {
    this.#host = host;
  }

  /** The accounts that have limits: those that the file names, then others that had a flow. */
  get meters(): ReadonlyMap<string, AccountMeter<F>> {
    return this.#meters;
  }

  /** Sets what accounts had used before this process. Called before `apply`. */
  restore(states: Iterable<AccountState>): void {
    for (const state of states) this.#keep(state);
  }

  /** Replaces the limits; accounts keep what they have used. The caller assigns meters to open flows. */
  apply(spec: LimitsSpec): void {
    this.#spec = spec;
    this.#inForce = spec.accounts.size > 0 || spec.others !== undefined;
    const before = [...this.#meters.values()];
    this.#meters.clear();
    const byName = new Map(before.map((meter) => [meter.name, meter]));
    for (const [name, rule] of spec.accounts) this.#place(name, rule, byName.get(name));
    for (const meter of before) {
      if (this.#meters.has(meter.name)) continue;
      if (spec.others) this.#place(meter.name, spec.others, meter);
      else this.#drop(meter);
    }
    this.tick();
  }

  /** Returns the meter of an account; `undefined` if it has no limits. */
  meterOf(name: string | undefined): AccountMeter<F> | undefined {
    if (!this.#inForce || name === undefined) return undefined;
    const meter = this.#meters.get(name);
    if (meter || !this.#spec.others) return meter;
    return this.#place(name, this.#spec.others, undefined);
  }

  /** Returns the limit by which a new flow of a meter's account is refused; a device that is admitted is present then. */
  refusal(meter: AccountMeter<F>, source: string | undefined): ReachedLimit | undefined {
    meter.roll();
    const limit = meter.refusal(source);
    if (limit === 'devices') this.#reportDevices(meter);
    else this.#settle(meter);
    return limit;
  }

  /** Begins periods, and closes flows of accounts whose time has ended; to be called every second. */
  tick(): void {
    for (const meter of this.#meters.values()) {
      meter.roll();
      this.#settle(meter);
    }
  }

  /** The used bytes of all accounts if they have changed since the last call. */
  takeStates(): readonly AccountState[] | undefined {
    let changed = this.#changed;
    this.#changed = false;
    for (const meter of this.#meters.values()) changed = meter.takeChange() || changed;
    if (!changed) return undefined;
    const used = [...this.#meters.values()].map(({ state }) => state);
    return [...used, ...this.#kept.values()].filter(({ up, down }) => up + down > 0);
  }

  /** Marks the used bytes as changed: they could not be stored. */
  changedAgain(): void {
    this.#changed = true;
  }

  #place(name: string, rule: AccountRule, before: AccountMeter<F> | undefined): AccountMeter<F> {
    const meter = before ?? new AccountMeter(name, rule, this.#host.clock, this.#onUsedUp);
    this.#meters.set(name, meter);
    if (before) {
      meter.setRule(rule);
      return meter;
    }
    const state = this.#kept.get(name);
    if (state) meter.restore(state);
    this.#kept.delete(name);
    return meter;
  }

  /** Ends the limits of an account whose flows are open. */
  #drop(meter: AccountMeter<F>): void {
    this.#keep(meter.state);
    meter.release();
  }

  /** Keeps the used bytes of an account, unless a period of a limit has ended since. */
  #keep(state: AccountState): void {
    if (periodStart(state.reset, this.#host.clock.wall()) > state.period) return;
    this.#kept.delete(state.user);
    this.#kept.set(state.user, state);
    if (this.#kept.size <= MOST_ACCOUNTS) return;
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined) this.#kept.delete(oldest);
  }

  readonly #onUsedUp = (meter: AccountMeter<F>): void => {
    // In a later turn: this one is moving bytes of a flow.
    this.#host.clock.after(0, () => this.#settle(meter));
  };

  /** Closes the flows of an account that has reached a limit, or reports that it works again. */
  #settle(meter: AccountMeter<F>): void {
    const limit = this.#meters.get(meter.name) === meter ? meter.reached : undefined;
    const isNew = limit !== undefined && meter.closedBy !== limit;
    const worksAgain = limit === undefined && meter.closedBy !== undefined;
    meter.closedBy = limit;
    const flows = limit === undefined ? [] : [...meter.flows];
    const closed = limit && flows.length > 0 ? this.#host.close(flows, meter.name, limit) : 0;
    if (isNew) this.onChange?.({ user: meter.name, state: limit, closed });
    if (worksAgain) this.onChange?.({ user: meter.name, state: 'open', closed: 0 });
  }

  #reportDevices(meter: AccountMeter<F>): void {
    const now = this.#host.clock.now();
    if (now - meter.deviceRefusedAt >= DEVICES_AGAIN_MS) {
      this.onChange?.({ user: meter.name, state: 'devices', closed: 0 });
    }
    meter.deviceRefusedAt = now;
  }
}
