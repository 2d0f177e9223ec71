import { type Endpoint, shownForeign } from '@weir/io/addresses';
import { abortedDial, DialError, toDialError } from '@weir/io';

/** Returns the error of a dial that is aborted because its client has disconnected. */
export const clientLeft = (): DialError => new DialError('aborted', 'the client has left');

/** Returns the error of a flow that is refused because a reload has removed the account of its session. */
export const accountRemoved = (): DialError =>
  new DialError('forbidden', 'the account has been removed');

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
