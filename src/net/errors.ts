import { WeirError, codeOf, messageOf } from '../errors.ts';
import { formatEndpoint, type Endpoint } from './address.ts';

/**
 * Why a destination could not be reached. Inbounds translate the code for their client (a SOCKS
 * reply, an HTTP status), so the set is closed and every outbound maps onto it.
 *
 * - `refused`: the destination answered that nobody listens
 * - `unreachable_host`, `unreachable_network`: no way to the host or its network
 * - `not_found`: the name does not resolve
 * - `timed_out`: no answer within the dial limit
 * - `blocked`: a rule sends it to a blackhole
 * - `loop`: it is an inbound of this proxy, and the request would circle
 * - `forbidden`: it is the API of this proxy, which the client may not reach
 * - `unsupported`: the outbound cannot carry this network (UDP over an HTTP proxy)
 * - `upstream`: the proxy that should have carried it refused, or broke its protocol
 * - `aborted`: the client went away, the flow was killed or the process is stopping
 * - `failed`: anything else
 */
export type DialErrorCode =
  | 'refused'
  | 'unreachable_host'
  | 'unreachable_network'
  | 'not_found'
  | 'timed_out'
  | 'blocked'
  | 'loop'
  | 'forbidden'
  | 'unsupported'
  | 'upstream'
  | 'aborted'
  | 'failed';

export class DialError extends WeirError {
  declare readonly code: DialErrorCode;

  constructor(code: DialErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

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

/** The usual reasons in words; Node's texts repeat the address and name the system call. */
const REASONS: Readonly<Partial<Record<DialErrorCode, string>>> = {
  refused: 'connection refused',
  unreachable_host: 'no route to the host',
  unreachable_network: 'no route to its network',
  timed_out: 'the connection timed out',
};

/** The same for what happens on this host, or says nothing about the destination. */
const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  EMFILE: 'this process has too many open files',
  ENFILE: 'this host has too many open files',
  ENOBUFS: 'the kernel has no memory for another connection',
  ENOMEM: 'the kernel has no memory for another connection',
  EACCES: 'this host does not permit it',
  EPERM: 'this host does not permit it',
  ECONNRESET: 'the connection was reset',
};

/** Names what went wrong while reaching `target`; a DialError passes through unchanged. */
export function toDialError(error: unknown, target: Endpoint): DialError {
  if (error instanceof DialError) return error;
  if (error instanceof DeadlineError) {
    return new DialError('timed_out', `${formatEndpoint(target)}: ${error.message}`, {
      cause: error,
    });
  }
  const system = codeOf(error);
  const code = (system !== undefined && SYSTEM_CODES[system]) || 'failed';
  const reason = REASONS[code] ?? SYSTEM_REASONS[system ?? ''] ?? messageOf(error);
  return new DialError(code, `${formatEndpoint(target)}: ${reason}`, { cause: error });
}

/**
 * Why an aborted dial ended, from the reason of its signal: a DialError is itself, a limit that
 * passed is `timed_out`, anything else is `aborted`. `target` is named in the message.
 */
export function abortedDial(signal: AbortSignal, target?: Endpoint): DialError {
  const reason: unknown = signal.reason;
  if (reason instanceof DialError) return reason;
  const where = target ? `${formatEndpoint(target)}: ` : '';
  const code = reason instanceof DeadlineError ? 'timed_out' : 'aborted';
  return new DialError(code, `${where}${messageOf(reason)}`, { cause: reason });
}

/** A peer that sent what its protocol does not allow, or stopped in the middle of it. */
export class ProtocolError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('protocol', message, options);
  }
}

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
