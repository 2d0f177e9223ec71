import type { Logger } from '@weir/base/log';
import { bytes, counted } from '@weir/base/text/amounts';
import { quoted } from '@weir/base/printable';
import type { Clock } from '@weir/io/time';
import type { AccountMeter, LimitChange } from '@weir/proxy/limits';
import type { Flow, Tracker } from '@weir/proxy/tracker';
import {
  type AccountReport,
  type LimitEvent,
  type LimitsReport,
  type LimitsRequest,
  type LimitState,
  MAX_ACCOUNTS,
} from '../control/limits-report.ts';
import type { AccountLimitsStatus } from '../control/running-status.ts';

/** Events that are kept. */
const KEPT_EVENTS = 256;
/** Milliseconds for which a refused device shows in the state of its account. */
const REFUSED_MS = 60_000;

type Meter = AccountMeter<Flow>;

/** Returns the accounts that a request selects. */
export function reportAccounts(
  meters: ReadonlyMap<string, Meter>,
  { user, after }: LimitsRequest,
  clock: Clock,
): Pick<LimitsReport, 'accounts' | 'more'> {
  if (user !== undefined) {
    const meter = meters.get(user);
    return { accounts: meter ? [accountReport(meter, clock)] : [], more: 0 };
  }
  const accounts: AccountReport[] = [];
  let passed = after === undefined;
  let more = 0;
  for (const meter of meters.values()) {
    if (!passed) passed = meter.name === after;
    else if (accounts.length < MAX_ACCOUNTS) accounts.push(accountReport(meter, clock));
    else more++;
  }
  return { accounts, more };
}

/** Accounts in a status. */
const MOST_REACHED = 20;

/** Returns the accounts that have reached a limit. */
export function reachedAccounts(
  meters: ReadonlyMap<string, Meter>,
  clock: Clock,
): AccountLimitsStatus {
  const reached = [...meters.values()].filter((meter) => stateOf(meter, clock) !== 'open');
  const shown = reached.slice(0, MOST_REACHED).map((meter) => accountReport(meter, clock));
  return { accounts: meters.size, reached: shown, more: reached.length - shown.length };
}

/** Returns the state of an account. */
function accountReport(meter: Meter, clock: Clock): AccountReport {
  const { name, up, down, used, rule, devices } = meter;
  return {
    user: name,
    state: stateOf(meter, clock),
    up,
    down,
    used,
    bytes: rule.bytes ?? null,
    left: meter.left ?? null,
    reset: rule.reset,
    resets_at: meter.resetsAt ?? null,
    until: rule.until ?? null,
    devices,
    max_devices: rule.devices ?? null,
    up_rate: rule.up ?? null,
    down_rate: rule.down ?? null,
    flows: meter.flows.size,
    last_seen: meter.flows.size > 0 ? clock.wall() : (meter.lastFlowAt ?? null),
  };
}

function stateOf(meter: Meter, clock: Clock): LimitState {
  const { reached, rule, deviceRefusedAt } = meter;
  if (reached !== undefined) return reached;
  const isRefused = clock.now() - deviceRefusedAt < REFUSED_MS;
  // Counted for few: the sources of all accounts are many.
  return isRefused && meter.devices >= (rule.devices ?? Infinity) ? 'devices' : 'open';
}

/** What has happened to accounts: lines of the log, and the latest events. */
export class LimitEvents {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #latest: LimitEvent[] = [];
  #count = 0;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The latest events, oldest first. */
  get latest(): readonly LimitEvent[] {
    return [...this.#latest];
  }

  add(change: LimitChange, { limits }: Pick<Tracker, 'limits'>): void {
    const meter = limits.meters.get(change.user);
    this.#latest.push({ seq: ++this.#count, at: this.#clock.wall(), ...change });
    if (this.#latest.length > KEPT_EVENTS) this.#latest.shift();
    if (meter) this.#log.info(lineOf(change, meter), { user: change.user });
  }
}

/** Returns the log line of a change. */
function lineOf({ user, state, closed }: LimitChange, meter: Meter): string {
  const account = `account ${quoted(user)}`;
  const ended = closed === 0 ? '' : `; ${counted(closed, 'flow')} closed`;
  const { rule, resetsAt } = meter;
  switch (state) {
    case 'bytes': {
      const again = resetsAt === undefined ? '' : `; it works again from ${timeOf(resetsAt)}`;
      return `${account} has used its ${bytes(rule.bytes ?? 0)}${ended}${again}`;
    }
    case 'until':
      return `${account} has expired at ${timeOf(rule.until ?? 0)}${ended}`;
    case 'devices':
      return `${account} is in use by ${counted(meter.devices, 'device')}; another one was refused`;
    case 'open':
      return `${account} works again`;
    default:
      return state satisfies never;
  }
}

/** Formats a time in UTC to the minute: `2027-02-01 00:00 UTC`. */
const timeOf = (at: number): string =>
  `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
