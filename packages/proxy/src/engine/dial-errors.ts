import { type Endpoint, shownForeign } from '@weir/io/addresses';
import { abortedDial, DialError, toDialError } from '@weir/io';

/** Returns the error of a dial that is aborted because its client has disconnected. */
export const clientLeft = (): DialError => new DialError('aborted', 'the client has left');

/** Returns the error of a flow that is refused because a reload has removed the account of its session. */
export const accountRemoved = (): DialError =>
  new DialError('forbidden', 'the account has been removed');

/** Returns the error of a flow for which the host program has chosen an outbound that does not exist. */
export const unknownOutbound = (tag: string): DialError =>
  new DialError(
    'unknown_outbound',
    `no outbound or balancer has the tag ${JSON.stringify(tag.slice(0, SHOWN))}`,
  );

/** Returns the error of a flow that the hook of the host program refuses. */
export const refusedByHook = (): DialError => new DialError('blocked', 'refused by the route hook');

/**
 * Returns the error of a flow that is refused because the hook of the host program has failed. Clients see its message,
 * which therefore does not contain that of the program's error.
 */
export const failedHook = (cause: unknown): DialError =>
  cause instanceof DialError
    ? cause
    : new DialError('failed', 'the route hook has failed', { cause });

/** Characters of an invalid host that an error message quotes. */
const SHOWN = 256;

/** Returns the error for a destination with an invalid host, which no rule could match. */
export const notAHost = (host: string): DialError =>
  new DialError(
    'not_found',
    `${shownForeign(JSON.stringify(host.slice(0, SHOWN)))} is not a host name`,
  );

/**
 * Returns the error of a dial. After an abort the outbound may reject with any error, and the signal has the reason;
 * only an error with the same code is more precise, since it names the server that did not respond.
 */
export function asDialError(error: unknown, signal: AbortSignal, target: Endpoint): DialError {
  if (!signal.aborted) return toDialError(error, target);
  const aborted = abortedDial(signal, target);
  return error instanceof DialError && error.code === aborted.code ? error : aborted;
}
