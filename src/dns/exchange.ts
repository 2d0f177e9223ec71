import { formatEndpoint, type Endpoint } from '../net/address.ts';
import { codeOf } from '../errors.ts';
import { DialError, toDialError } from '../net/errors.ts';
import type { Question, Reply } from './message.ts';

/** A way to one DNS server: UDP, TLS or HTTPS. */
export interface Exchange {
  /** The server, for messages: `192.0.2.53:853`. */
  readonly server: string;
  /**
   * Asks one question and gives the server's reply, whatever its response code.
   *
   * @throws {DialError} `timed_out`, `upstream`, or what `signal` means.
   */
  ask(question: Question, signal: AbortSignal): Promise<Reply>;
  /** Closes connections while no question waits. A later one opens them anew. */
  close(): void;
}

/**
 * What a failed exchange means to a flow. That the *server* refused or is out of reach says nothing
 * about the destination, so of the codes of a dial only `timed_out` and `aborted` stay.
 */
export function serverError(server: Endpoint, error: unknown): DialError {
  const endpoint = formatEndpoint(server);
  const told = toDialError(error, server);
  const timedOut = told.code === 'timed_out' || codeOf(error) === 'timed_out';
  const code = timedOut ? 'timed_out' : told.code === 'aborted' ? 'aborted' : 'upstream';
  const reason = told.message.replace(`${endpoint}: `, '');
  return new DialError(code, `DNS server ${endpoint}: ${reason}`, { cause: error });
}
