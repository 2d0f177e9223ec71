import { type Endpoint, shownEndpoint, shownForeign } from './addresses/addresses.ts';
import { CodedError, WeirError, codeOf, messageOf } from '@weir/base';

/**
 * The reason why a destination could not be reached. Inbounds translate the code for their client (a SOCKS
 * reply, an HTTP status), so the set is closed and every outbound maps onto it.
 *
 * - `refused`: the destination refused the connection
 * - `unreachable_host`, `unreachable_network`: no route to the host or its network
 * - `not_found`: the name does not exist, or has no address of an allowed family
 * - `unresolved`: the resolver failed, so it is not known whether the name exists
 * - `timed_out`: no response within the dial limit
 * - `blocked`: a rule sends the flow to a blackhole
 * - `loop`: the destination is an inbound of this proxy, and the request would loop
 * - `forbidden`: the destination is the API of this proxy, which the client may not reach
 * - `unsupported`: the outbound cannot carry this network (UDP over an HTTP proxy)
 * - `upstream`: the upstream proxy rejected the request or violated its protocol
 * - `unknown_outbound`: no outbound or balancer has the tag that the host program has chosen
 * - `aborted`: the client disconnected, the flow was killed or the process is stopping
 * - `failed`: anything else
 */
export type DialErrorCode =
  | 'refused'
  | 'unreachable_host'
  | 'unreachable_network'
  | 'not_found'
  | 'unresolved'
  | 'timed_out'
  | 'blocked'
  | 'loop'
  | 'forbidden'
  | 'unsupported'
  | 'upstream'
  | 'unknown_outbound'
  | 'aborted'
  | 'failed';

export class DialError extends CodedError<DialErrorCode> {}

const SYSTEM_CODES: Readonly<Record<string, DialErrorCode>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'unreachable_host',
  EHOSTDOWN: 'unreachable_host',
  ENETUNREACH: 'unreachable_network',
  ENETDOWN: 'unreachable_network',
  EADDRNOTAVAIL: 'unreachable_network',
  EAFNOSUPPORT: 'unreachable_network',
  ENOTFOUND: 'not_found',
  ENODATA: 'not_found',
  EAI_AGAIN: 'not_found',
  ETIMEDOUT: 'timed_out',
};

/** Texts of the common reasons; Node's messages repeat the address and name the system call. */
const REASONS: Readonly<Partial<Record<DialErrorCode, string>>> = {
  refused: 'connection refused',
  unreachable_host: 'no route to the host',
  unreachable_network: 'no route to its network',
  timed_out: 'the connection timed out',
};

/**
 * Returns the text of an error for a message. Texts of Node and of the system may name addresses, so they are masked.
 */
const textOf = (error: unknown): string =>
  error instanceof WeirError ? error.message : shownForeign(messageOf(error), codeOf(error));

/** Reasons for errors of this host, which do not concern the destination. */
const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  EMFILE: 'this process has too many open files',
  ENFILE: 'this host has too many open files',
  ENOBUFS: 'the kernel has no memory for another connection',
  ENOMEM: 'the kernel has no memory for another connection',
  EACCES: 'this host does not permit it',
  EPERM: 'this host does not permit it',
  ECONNRESET: 'the connection was reset',
};

/** System errors of a process or host without resources: no other destination would have been reached either. */
const NO_RESOURCES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Whether an error, or one of its causes, is a lack of resources of this host. */
export function isOfThisHost(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof AggregateError) return each.errors.some(isOfThisHost);
    if (NO_RESOURCES.has(codeOf(each) ?? '')) return true;
  }
  return false;
}

/** Returns the error of a failed dial of `target`; a DialError is returned unchanged. */
export function toDialError(error: unknown, target: Endpoint): DialError {
  if (error instanceof DialError) return error;
  if (error instanceof DeadlineError) {
    return new DialError('timed_out', `${shownEndpoint(target)}: ${error.message}`, {
      cause: error,
    });
  }
  const system = codeOf(error);
  const code = (system !== undefined && SYSTEM_CODES[system]) || 'failed';
  const reason = REASONS[code] ?? SYSTEM_REASONS[system ?? ''] ?? textOf(error);
  return new DialError(code, `${shownEndpoint(target)}: ${reason}`, { cause: error });
}

/**
 * Returns the error of an aborted dial, from the reason of its signal: a DialError is returned unchanged, a
 * DeadlineError becomes `timed_out`, anything else `aborted`. The message names `target`.
 */
export function abortedDial(signal: AbortSignal, target?: Endpoint): DialError {
  const reason: unknown = signal.reason;
  if (reason instanceof DialError) return reason;
  const where = target ? `${shownEndpoint(target)}: ` : '';
  const code = reason instanceof DeadlineError ? 'timed_out' : 'aborted';
  return new DialError(code, `${where}${messageOf(reason)}`, { cause: reason });
}

/** A peer violated its protocol, or its stream is truncated. */
export class ProtocolError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('protocol', message, options);
  }
}

/** The stream of a peer ended where its protocol does not allow that. */
export class TruncatedError extends ProtocolError {}

/** A wait that took longer than its limit. */
export class DeadlineError extends WeirError {
  constructor(message: string) {
    super('deadline', message);
  }
}

/** A link that was destroyed without a more precise cause. */
export class LinkClosedError extends WeirError {
  constructor(message = 'the link is closed') {
    super('link_closed', message);
  }
}

/** The failure of the link that is written to; `cause` is the error of the link. */
export class WriteError extends WeirError {
  override readonly cause: Error;

  constructor(cause: Error) {
    super('write', 'a write has failed', { cause });
    this.cause = cause;
  }
}

/** Shared by all links that were closed as usual: an error with its stack costs more than the close. */
export const LINK_CLOSED = new LinkClosedError();
