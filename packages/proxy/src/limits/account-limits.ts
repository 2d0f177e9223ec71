import { type Clock, inSteps, type Steps } from '@weir/io/time';
import {
  AccountMeter,
  type AccountState,
  type LimitedFlow,
  type ReachedLimit,
} from './account-meter.ts';
import { type AccountRule, type LimitsSpec, NO_LIMITS } from './spec.ts';

/** Accounts with limits, and accounts without of which the used bytes are kept. */
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
  /** Accounts whose limits a file has taken back: what they have used is still to be stored, and counts later. */
  readonly #retired = new Map<string, AccountMeter<F>>();
  /** Used bytes of accounts that have had no limits since the start. */
  readonly #restored = new Map<string, AccountState>();
  /** Accounts whose flows are closed in the next turn of the event loop. */
  readonly #settling = new Set<AccountMeter<F>>();
  #spec: LimitsSpec = NO_LIMITS;
  /** The accounts that are still to be looked at for an idle one. */
  #search: MapIterator<AccountMeter<F>> | undefined;

  constructor(host: LimitsHost<F>) {
    this.#host = host;
  }

  /** The accounts that have limits, those that the file names and others that had a flow, in the order in which they came. */
  get meters(): ReadonlyMap<string, AccountMeter<F>> {
    return this.#meters;
  }

  /** Sets what accounts had used before this process; at most 100,000 are kept. Called before `apply`. */
  restore(states: Iterable<AccountState>): void {
    for (const state of states) {
      if (this.#restored.size < MOST_ACCOUNTS) this.#restored.set(state.user, state);
    }
  }

  /**
   * Replaces the limits; accounts keep what they have used. From the call on a new flow has its account obey the new limits, and
   * the steps let all others obey them: each account changes from all of its old limits to all of its new ones at one
   * moment. The caller assigns meters to open flows.
   */
  apply(spec: LimitsSpec): Steps<void> {
    this.#spec = spec;
    return this.#changeAll(spec);
  }

  *#changeAll(spec: LimitsSpec): Steps<void> {
    // An iterator keeps what is deleted from its map.
    this.#search = undefined;
    yield* inSteps(spec.accounts.keys(), (name) => {
      // Otherwise these limits were replaced meanwhile.
      if (this.#spec === spec) this.meterOf(name);
    });
    yield* inSteps(this.#meters.values(), (meter) => {
      if (!this.meterOf(meter.name)) this.#retire(meter);
    });
  }

  /** Returns the meter of an account, with its current limits; `undefined` if it has none. */
  meterOf(name: string | undefined): AccountMeter<F> | undefined {
    if (name === undefined) return undefined;
    const rule = this.#spec.accounts.get(name) ?? this.#spec.others;
    if (!rule) return undefined;
    const meter = this.#meters.get(name);
    if (meter?.rule === rule) return meter;
    const isNamed = this.#spec.accounts.has(name);
    if (!meter && !isNamed && this.#meters.size >= MOST_ACCOUNTS) this.#retireIdle();
    return this.#place(name, rule, meter);
  }

  /**
   * Returns the limit by which a new flow of an account is refused; a device that is admitted is present from then on.
   * @param source the client's IP address
   */
  refusalOf(name: string | undefined, source: string | undefined): ReachedLimit | undefined {
    const meter = this.meterOf(name);
    if (!meter) return undefined;
    meter.roll();
    const limit = meter.refusal(source);
    if (limit === 'devices') this.#reportDevices(meter);
    else this.#settle(meter);
    return limit;
  }

  /** Begins periods, and closes flows of accounts whose time has ended; to be run every second. */
  tick(): Steps<void> {
    return inSteps(this.#meters.values(), (meter) => {
      meter.roll();
      this.#settle(meter);
    });
  }

  /** Returns the accounts whose used bytes differ from what is stored. */
  changed(): readonly AccountMeter<F>[] {
    const changed: AccountMeter<F>[] = [];
    for (const meters of [this.#meters, this.#retired]) {
      for (const meter of meters.values()) if (meter.isChanged) changed.push(meter);
    }
    return changed;
  }

  #place(name: string, rule: AccountRule, before: AccountMeter<F> | undefined): AccountMeter<F> {
    const known = before ?? this.#retired.get(name);
    const meter = known ?? new AccountMeter(name, rule, this.#host.clock, this.#onReached);
    if (known) meter.setRule(rule);
    else this.#restoreTo(meter);
    this.#retired.delete(name);
    this.#meters.set(name, meter);
    return meter;
  }

  #restoreTo(meter: AccountMeter<F>): void {
    const state = this.#restored.get(meter.name);
    if (state) meter.restore(state);
    this.#restored.delete(meter.name);
  }

  /** Ends the limits of an account, whose flows stay open. */
  #retire(meter: AccountMeter<F>): void {
    this.#meters.delete(meter.name);
    meter.release();
    meter.closedBy = undefined;
    this.#retired.set(meter.name, meter);
    if (this.#retired.size <= MOST_ACCOUNTS) return;
    const [oldest] = this.#retired.keys();
    if (oldest !== undefined) this.#retired.delete(oldest);
  }

  readonly #onReached = (meter: AccountMeter<F>): void => {
    if (this.#settling.has(meter)) return;
    this.#settling.add(meter);
    // In a later turn: this one opens a flow, or moves its bytes.
    this.#host.clock.after(0, () => {
      this.#settling.delete(meter);
      this.#settle(meter);
    });
  };

  /** Closes the flows of an account that has reached a limit, or reports that it works again. */
  #settle(meter: AccountMeter<F>): void {
    const current = this.#meters.get(meter.name) ?? this.#retired.get(meter.name);
    const limit = current === meter ? meter.reached : undefined;
    const isNew = limit !== undefined && meter.closedBy !== limit;
    const worksAgain = limit === undefined && meter.closedBy !== undefined;
    meter.closedBy = limit;
    const flows = limit === undefined ? [] : [...meter.flows];
    const closed = limit && flows.length > 0 ? this.#host.close(flows, meter.name, limit) : 0;
    if (isNew) this.onChange?.({ user: meter.name, state: limit, closed });
    if (worksAgain) this.onChange?.({ user: meter.name, state: 'open', closed: 0 });
  }

  /**
   * Makes room for another account: one that the file does not name, and that has no flow. The search goes on where the
   * last one ended, and passes each account once at most.
   */
  #retireIdle(): void {
    for (let left = this.#meters.size; left >= 0; left--) {
      this.#search ??= this.#meters.values();
      const { value: meter } = this.#search.next();
      if (!meter) this.#search = undefined;
      else if (meter.flows.size === 0 && !this.#spec.accounts.has(meter.name)) {
        this.#retire(meter);
        return;
      }
    }
  }

  #reportDevices(meter: AccountMeter<F>): void {
    const now = this.#host.clock.now();
    if (now - meter.deviceRefusedAt >= DEVICES_AGAIN_MS) {
      this.onChange?.({ user: meter.name, state: 'devices', closed: 0 });
    }
    meter.deviceRefusedAt = now;
  }
}
