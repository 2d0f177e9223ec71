import type { Clock } from '@weir/io/time';
import { Devices } from './devices.ts';
import { Gate } from './gate.ts';
import { periodEnd, periodStart } from './periods.ts';
import type { AccountRule, Reset } from './spec.ts';

/** The used bytes of an account, as they survive a restart. */
export interface AccountState {
  readonly user: string;
  /** Payload bytes of the period, from and to the account. */
  readonly up: number;
  readonly down: number;
  readonly reset: Reset;
  /** Start of the period in Unix milliseconds; 0 for `never`. */
  readonly period: number;
}

/** The limit that new flows of an account are refused by. */
export type ReachedLimit = 'bytes' | 'until' | 'devices';

/** A flow of an account, which can be closed. */
export interface LimitedFlow {
  readonly info: {
    /** The client's IP address. */
    readonly source: string | undefined;
    readonly account?: { readonly isValid: boolean } | undefined;
  };
}

const isOfRemoved = ({ info }: LimitedFlow): boolean => info.account?.isValid === false;

/** One account that has limits: what it has used, and its open flows. */
export class AccountMeter<F extends LimitedFlow = LimitedFlow> {
  readonly name: string;
  /** The directions from and to the account; both are also limited by what is left of its bytes. */
  readonly upGate: Gate;
  readonly downGate: Gate;
  readonly flows = new Set<F>();
  /** The limit that has closed the flows of the account, until it works again. */
  closedBy: 'bytes' | 'until' | undefined;
  /** When a new device was last refused, in milliseconds of the monotonic clock. */
  deviceRefusedAt = -Infinity;
  /** When a flow last ended, in Unix milliseconds; `undefined` if not since the start. */
  lastFlowAt: number | undefined;
  readonly #clock: Clock;
  readonly #onReached: (meter: AccountMeter<F>) => void;
  /** The sources; `undefined` without a limit of them. */
  #devices: Devices | undefined;
  #rule: AccountRule;
  /** `bytes` of the rule. */
  #most: number;
  #up = 0;
  #down = 0;
  #period = 0;
  #periodEnd = 0;
  /** The period that the account was in when the clock was set to one long before; `undefined` once another begins. */
  #ahead: number | undefined;
  /** The part of the used bytes that has been stored. */
  #storedUp = 0;
  #storedDown = 0;
  /** Whether the state has changed since it was stored. */
  #changed = false;

  /**
   * @param onReached called when the bytes of the limit are used, or a flow has begun nevertheless; within `addUp`, `addDown`
   * or `opened`, so that it must not close flows
   */
  constructor(
    name: string,
    rule: AccountRule,
    clock: Clock,
    onReached: (meter: AccountMeter<F>) => void,
  ) {
    this.name = name;
    this.#clock = clock;
    this.#onReached = onReached;
    this.#rule = rule;
    this.#most = Infinity;
    this.#enter(periodStart(rule.reset, clock.wall()));
    this.upGate = new Gate(clock, this.#leftBytes);
    this.downGate = new Gate(clock, this.#leftBytes);
    this.setRule(rule);
  }

  get rule(): AccountRule {
    return this.#rule;
  }

  get up(): number {
    return this.#up;
  }

  get down(): number {
    return this.#down;
  }

  get used(): number {
    return this.#up + this.#down;
  }

  /** What is left of the bytes of the limit, at least 0; `undefined` without one. */
  get left(): number | undefined {
    return this.#rule.bytes === undefined ? undefined : Math.max(0, this.#most - this.used);
  }

  /** The end of the period, in Unix milliseconds; `undefined` if it has none. */
  get resetsAt(): number | undefined {
    return Number.isFinite(this.#periodEnd) ? this.#periodEnd : undefined;
  }

  get state(): AccountState {
    const { name: user, up, down } = this;
    return { user, up, down, reset: this.#rule.reset, period: this.#period };
  }

  /** The limit by which flows of every device are refused at this moment. */
  get reached(): 'bytes' | 'until' | undefined {
    if (this.#rule.until !== undefined && this.#clock.wall() >= this.#rule.until) return 'until';
    return this.used >= this.#most ? 'bytes' : undefined;
  }

  /** Whether the state differs from what is stored. */
  get isChanged(): boolean {
    return this.#changed;
  }

  /** Continues with the used bytes of an earlier process. */
  restore({ up, down, reset, period }: AccountState): void {
    this.#up = up;
    this.#down = down;
    this.#storedUp = up;
    this.#storedDown = down;
    if (reset === this.#rule.reset) this.#enter(period);
    this.roll();
  }

  /**
   * Returns what is to be stored, given what is stored now, which other processes may have changed: their bytes are added
   * to those of this one.
   */
  merged(stored: AccountState | undefined): AccountState {
    const { state } = this;
    if (!stored || stored.reset !== state.reset || stored.period < state.period) return state;
    const current = periodStart(state.reset, this.#clock.wall());
    // Stored by a clock that was ahead.
    if (stored.period > Math.max(current, state.period)) return state;
    return {
      ...state,
      up: stored.up + state.up - this.#storedUp,
      down: stored.down + state.down - this.#storedDown,
      period: stored.period,
    };
  }

  /**
   * Called when a state has been stored.
   * @param before the state of this meter that went into `stored`
   */
  stored(before: AccountState, stored: AccountState): void {
    if (before.reset !== this.#rule.reset || before.period !== this.#period) return;
    this.#up += stored.up - before.up;
    this.#down += stored.down - before.down;
    this.#storedUp = stored.up;
    this.#storedDown = stored.down;
    this.#enter(stored.period);
    this.#changed = this.#up !== stored.up || this.#down !== stored.down;
  }

  /** Changes the limits; what was used stays. */
  setRule(rule: AccountRule): void {
    const isReset = rule.reset !== this.#rule.reset;
    this.#rule = rule;
    if (isReset) {
      this.#enter(periodStart(rule.reset, this.#clock.wall()));
      this.#ahead = undefined;
      this.#changed = true;
    }
    this.#most = rule.bytes ?? Infinity;
    this.upGate.setRate(rule.up);
    this.downGate.setRate(rule.down);
    if (rule.devices === undefined) this.#devices = undefined;
    else this.#devices ??= this.#devicesOfFlows();
  }

  /** Removes the limits: flows that wait go on. Flows of an account that was removed itself keep them to their end. */
  release(): void {
    if (this.flows.size > 0 && this.flows.values().every(isOfRemoved)) return;
    this.setRule({ ...this.#rule, bytes: undefined, up: undefined, down: undefined });
  }

  /**
   * Begins the next period when it is time.
   *
   * A clock that is set back into the period before does not begin this one a second time. One that is set back further
   * had been far ahead, or is wrong now, as on a machine that starts without one: the used bytes stay, the account is in
   * the period of the clock, and continues in the one of before when the clock is in it again.
   */
  roll(): void {
    const now = this.#clock.wall();
    if (now >= this.#period && now < this.#periodEnd) return;
    const { reset } = this.#rule;
    const start = periodStart(reset, now);
    if (start < this.#period) {
      if (this.#period <= periodEnd(reset, now)) return;
      this.#ahead ??= this.#period;
    } else {
      if (start !== this.#ahead) this.#begin();
      this.#ahead = undefined;
    }
    this.#enter(start);
    this.#changed = true;
    this.upGate.wake();
    this.downGate.wake();
  }

  addUp(bytes: number): void {
    this.#up += bytes;
    this.upGate.charge(bytes);
    this.#used();
  }

  addDown(bytes: number): void {
    this.#down += bytes;
    this.downGate.charge(bytes);
    this.#used();
  }

  /** Returns the limit by which a new flow of this source is refused. */
  refusal(source: string | undefined): ReachedLimit | undefined {
    const reached = this.reached;
    if (reached !== undefined) return reached;
    const { devices } = this.#rule;
    if (devices === undefined || !this.#devices) return undefined;
    return this.#devices.admit(source, devices, this.#clock.now()) ? undefined : 'devices';
  }

  /** Number of sources with a flow in the last minute; 0 without a limit of them. */
  get devices(): number {
    return this.#devices?.count(this.#clock.now()) ?? 0;
  }

  opened(flow: F): void {
    this.flows.add(flow);
    this.#devices?.opened(flow.info.source, this.#clock.now());
    if (this.reached !== undefined) this.#onReached(this);
  }

  closed(flow: F): void {
    if (!this.flows.delete(flow)) return;
    this.lastFlowAt = this.#clock.wall();
    this.#devices?.closed(flow.info.source, this.#clock.now());
  }

  #devicesOfFlows(): Devices {
    const devices = new Devices();
    for (const { info } of this.flows) devices.opened(info.source, this.#clock.now());
    return devices;
  }

  #begin(): void {
    this.#up = 0;
    this.#down = 0;
    this.#storedUp = 0;
    this.#storedDown = 0;
  }

  #enter(period: number): void {
    this.#period = period;
    this.#periodEnd = periodEnd(this.#rule.reset, period);
  }

  #used(): void {
    this.#changed = true;
    if (this.used >= this.#most && this.closedBy === undefined) this.#onReached(this);
  }

  readonly #leftBytes = (): number => this.#most - this.used;
}
