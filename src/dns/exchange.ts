import { formatEndpoint, type Endpoint } from '../net/address.ts';
import { DeadlineError, DialError } from '../net/errors.ts';
import { codeOf, messageOf } from '../errors.ts';
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
  /** Closes connections. Called once every question is over or aborted. */
  close(): void;
}

/**
 * What a failed exchange means to a flow. That the *server* refused or is out of reach says nothing
 * about the destination, so of the codes of a dial only `timed_out` and `aborted` stay.
 */
export function serverError(server: Endpoint, error: unknown): DialError {
  const timedOut =
    error instanceof DeadlineError ||
    codeOf(error) === 'timed_out' ||
    codeOf(error) === 'ETIMEDOUT';
  const code = timedOut ? 'timed_out' : codeOf(error) === 'aborted' ? 'aborted' : 'upstream';
  const where = `DNS server ${formatEndpoint(server)}`;
  const text = messageOf(error);
  const message = text.startsWith(where) ? text : `${where}: ${text}`;
  return new DialError(code, message, { cause: error });
}
