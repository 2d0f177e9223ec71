import { CodedError, type WeirErrorOptions } from '@weir/base';
import { printable } from '@weir/base/printable';
import { age, counted } from '@weir/base/text/amounts';

/**
 * The effects of a reload. Items are texts in the order of the plan: dns, outbounds, balancers, route,
 * user sets, inbounds.
 */
export type ReloadReport = UnchangedReport | AppliedReport;

/** The files have the same bytes as in the last attempt. */
export interface UnchangedReport {
  readonly status: 'unchanged';
}

export interface AppliedReport {
  readonly status: 'applied';
  /** Built resources: `inbound <tag>`, `outbound <tag>@v<n>`, `balancer <tag>`, `user set <tag>`, `route`, `dns`. */
  readonly built: readonly string[];
  /** Tags of inbounds that kept their listener and got a new handler. */
  readonly swapped: readonly string[];
  /** Outbound versions that stay open until their last flow ends: `<tag>@v<n>`. */
  readonly drained: readonly string[];
  /** Tags of inbounds that listen at another address. */
  readonly rebound: readonly string[];
  /** Tags of inbounds whose listener was closed and bound again at its address. */
  readonly restarted: readonly string[];
  /** Tags of removed inbounds. */
  readonly removed: readonly string[];
  /** Resources that were reused, named as in `built`. */
  readonly reused: readonly string[];
}

/**
 * The reason why a well-formed configuration was not applied. `bind` is caused by the system, `stopped` by a stop,
 * `draining` by a drain, the others by the configuration.
 */
export type ApplyErrorCode =
  | 'bind'
  | 'stopped'
  | 'draining'
  | 'duplicate_tag'
  | 'unknown_reference'
  | 'bad_balancer'
  | 'invalid_resource'
  | 'build_failed'
  | 'disruptive';

export class ApplyError extends CodedError<ApplyErrorCode> {
  /** @param message may quote tags and foreign texts: it is escaped into one line */
  constructor(code: ApplyErrorCode, message: string, options?: WeirErrorOptions) {
    super(code, printable(message), options);
  }
}

/** The sessions and flows that a drain waits for. */
export interface DrainStatus {
  /** Flows of sockets; those of devices continue until the process stops. */
  readonly flows: number;
  readonly sessions: number;
  /** Accepted clients that have not authenticated. */
  readonly handshakes: number;
  /** Flows of devices, which are not waited for. */
  readonly deviceFlows: number;
}

/** Returns the remaining sessions and flows as text, for users. */
export function drainText({ flows, sessions, handshakes, deviceFlows }: DrainStatus): string {
  const parts = [counted(flows, 'flow'), `in ${counted(sessions, 'session')}`];
  if (handshakes > 0) parts.push(`and ${counted(handshakes, 'client')} in a handshake`);
  const isNone = flows + sessions + handshakes === 0;
  const left = isNone ? 'nothing is left' : `${parts.join(' ')} left`;
  const device = `${counted(deviceFlows, 'flow')} of devices, which go on until the stop`;
  return deviceFlows === 0 ? left : `${left}; ${device}`;
}

/** Returns the log line of flows that a stop has ended. @param graceMs milliseconds for which they were waited for */
export const cutLine = (flows: number, graceMs: number): string =>
  `cut ${counted(flows, 'flow')} that ${flows === 1 ? 'was' : 'were'} still open${graceMs === 0 ? '' : ` after ${age(graceMs)}`}`;
