import { isNumber, isText, orNull, shape } from '@weir/proxy/schema';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Build } from '@weir/io/process';
import type { AccountReport } from './limits-report.ts';
import type { RunningDrain } from './messages.ts';
import type { ReloadOutcome } from '../outcomes.ts';

/**
 * The state of a running Weir: the response to `status` on its control socket, and the output of `weir status --json`.
 * Times are Unix milliseconds. Fields may be added; none changes its meaning within a major version.
 */
export interface RunningStatus {
  readonly version: string;
  /** `null` where the build is not known; missing in older versions. */
  readonly build?: Build | null;
  readonly pid: number;
  /** Absolute path of the configuration file; `null` for the built-in one. */
  readonly config: string | null;
  readonly started_at: number;
  readonly node: string;
  readonly sockets: SocketsStatus;
  /** The bound address of the API; `null` while it is off. */
  readonly api: string | null;
  readonly plane_epoch: number;
  readonly inbounds: readonly InboundStatus[];
  readonly balancers: readonly BalancerStatus[];
  readonly routes: RoutesStatus;
  readonly sessions: number;
  readonly flows: number;
  /** Number of sessions since the start. */
  readonly sessions_opened: number;
  readonly flows_opened: number;
  /** Number of flows that were not opened since the start: sent to a blackhole, or the destination was not reached. */
  readonly flows_blocked?: number;
  readonly flows_failed?: number;
  /** Number of flows since the start that a limit of their account has refused; missing in older versions. */
  readonly flows_limited?: number;
  /** Failed dials since the start, including those whose flow continued through another member of a balancer. */
  readonly failed_dials?: readonly { readonly outbound: string; readonly dials: number }[];
  readonly traffic: TrafficStatus;
  readonly limits: readonly LimitStatus[];
  /** Accounts that have reached a limit; `null` without `--limits`, missing in older versions. */
  readonly account_limits?: AccountLimitsStatus | null;
  readonly memory: MemoryStatus;
  readonly processor: ProcessorStatus;
  /** `null` in the first response, which starts the measurement. */
  readonly event_loop: EventLoopStatus | null;
  readonly last_reload: LastReload | null;
  /** The current filter of the log, in the syntax of `[log].level`; missing in older versions. */
  readonly log_filter?: string;
  readonly reloads: ReloadCounts;
  /** `null` while clients are accepted; missing in older versions. */
  readonly drain?: RunningDrain | null;
  readonly missed: MissedStatus;
}

export interface SocketsStatus {
  readonly kind: 'kernel' | 'node';
  /** Why the sockets are those of Node.js; `null` for the kernel's. */
  readonly reason: string | null;
}

export interface InboundStatus {
  readonly tag: string;
  readonly protocol: string;
  /** The bound address, or the name of the TUN device. */
  readonly address: string;
  readonly sessions: number;
  readonly flows: number;
}

export interface BalancerStatus {
  readonly tag: string;
  readonly strategy: 'failover' | 'round_robin';
  /** Distinct members, in the order of the configuration. */
  readonly members: readonly MemberStatus[];
}

export interface MemberStatus {
  readonly outbound: string;
  readonly health: 'unknown' | 'available' | 'unavailable';
  /** When the last probe ended; `null` before that. */
  readonly probed_at: number | null;
  /** Why the last probe failed; `null` if it did not. */
  readonly error: string | null;
}

/** The routes that the rule indexes of flows refer to. */
export interface RoutesStatus {
  /** Flows with an older `plane_epoch` were routed by other rules or groups. */
  readonly rules_since: number;
  /** Route groups of the subscribe file, in the order in which they are matched. */
  readonly groups: readonly {
    readonly name: string;
    readonly first_rule: number;
    /** Number of its rules, which are consecutive. */
    readonly rules: number;
  }[];
  /** Numbers of flows by rule since these rules are in force; missing in older versions. */
  readonly taken?: TakenRules;
}

export interface TakenRules {
  readonly since: number;
  /** Rules with the most flows, in the order of the rules. */
  readonly rules: readonly TakenRule[];
  /** Number of further rules with flows. */
  readonly more: number;
}

export interface TakenRule {
  /** Index of the rule; `null` for the default route. */
  readonly rule: number | null;
  readonly opened: number;
  readonly blocked: number;
  readonly failed: number;
  readonly last_at: number;
}

export interface AccountLimitsStatus {
  /** Number of accounts with limits. */
  readonly accounts: number;
  /** The first of those that have reached one. */
  readonly reached: readonly AccountReport[];
  /** Number of further accounts that have. */
  readonly more: number;
}

export interface LimitStatus {
  /** `open files`, or an inbound and its setting: `inbound hy: max_connections`. */
  readonly name: string;
  readonly used: number;
  readonly limit: number;
}

/** Memory in bytes. */
export interface MemoryStatus {
  readonly resident: number;
  readonly heap_used: number;
  readonly heap_total: number;
  readonly external: number;
}

/** Traffic in bytes since the start, as of the last sample; samples are taken every second. */
export interface TrafficStatus {
  readonly up: number;
  readonly down: number;
  /** Every tag that has carried a flow since the start, sorted. */
  readonly inbounds: readonly TagTraffic[];
  readonly outbounds: readonly TagTraffic[];
}

export interface TagTraffic {
  readonly tag: string;
  readonly up: number;
  readonly down: number;
  readonly flows: number;
}

/** Milliseconds of processor time since the start, of all threads. */
export interface ProcessorStatus {
  readonly user: number;
  readonly system: number;
}

/** Delays of the event loop in milliseconds: how late it ran due timers. */
export interface EventLoopStatus {
  /** Time of this process's first response, which started the measurement. */
  readonly since: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Number of measurements, and the sum of all delays. */
  readonly count: number;
  readonly sum: number;
}

/** Losses since the start. */
interface MissedStatus {
  /** Number of flow events that slow clients of the API have missed. */
  readonly events: number;
  /** Number of log lines lost because standard error was too slow. */
  readonly log_lines: number;
  /** Number of log lines that slow followers of the log (`weir log`) have missed, summed over all of them. */
  readonly followed_lines: number;
}

/** The outcome of the last reload, successful or not. */
export interface LastReload {
  readonly at: number;
  readonly outcome: ReloadOutcome;
  /** The place of a configuration error; `null` without one. */
  readonly place: ReloadPlace | null;
}

/** Numbers of reloads since the start, and when one last applied a configuration. */
export interface ReloadCounts {
  readonly applied: number;
  readonly unchanged: number;
  readonly failed: number;
  /** `null` before the first. */
  readonly last_applied_at: number | null;
}

/** A place in a file; line and column count from 1. */
export interface ReloadPlace {
  /** `null` if it is not known. */
  readonly file: string | null;
  readonly line: number;
  readonly column: number;
}

/** Validates the parts of a response that every reader depends on; `undefined` where one is missing. */
export const toRunningStatus = (parsed: unknown): RunningStatus | undefined =>
  isStatus(parsed) ? (parsed as RunningStatus) : undefined;

const isStatus = shape<Pick<RunningStatus, 'version' | 'pid' | 'config' | 'started_at'>>({
  version: isText,
  pid: isNumber,
  config: orNull(isText),
  started_at: isNumber,
});

/** Whether a running Weir serves a configuration file, possibly under another name through symbolic links. */
export async function servesFile(
  { config: served }: Pick<RunningStatus, 'config'>,
  config: string,
): Promise<boolean> {
  return served !== null && (await realPath(served)) === (await realPath(config));
}

/** The path with links resolved, for comparison; unresolved where that is not possible. */
const realPath = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));
