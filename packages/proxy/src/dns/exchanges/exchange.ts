import { shownEndpoint, formatEndpoint, type Endpoint } from '@weir/io/addresses';
import { codeOf, messageOf, WeirError } from '@weir/base';
import { DialError, toDialError, DeadlineError } from '@weir/io';
import { rejectsEdns, type Question, type RawQuestion, type DnsReply } from '../message.ts';

/** Exchanges messages with a DNS server, over UDP, TLS or HTTPS. */
export interface DnsExchange {
  /** The server, for messages: `192.0.2.53:853`. */
  readonly server: string;
  /**
   * Asks one question. A reply with any response code is returned.
   *
   * @throws {DialError} `timed_out`, `upstream`, or the reason of `signal`.
   */
  ask(question: Question | RawQuestion, signal: AbortSignal): Promise<DnsReply>;
  /** Closes connections; called while no question is pending. Later questions open them again. */
  close(): void;
}

/**
 * Returns the failure of a dial for that of an exchange. A *DNS server* that refuses or cannot be reached does not
 * concern the destination, so only the codes `timed_out` and `aborted` are kept.
 */
export function serverError(server: Endpoint, error: unknown): DialError {
  const endpoint = formatEndpoint(server);
  const failure = toDialError(error, server);
  const timedOut = failure.code === 'timed_out' || codeOf(error) === 'timed_out';
  const code = timedOut ? 'timed_out' : failure.code === 'aborted' ? 'aborted' : 'upstream';
  const reason = failure.message.replace(`${shownEndpoint(server)}: `, '');
  return new DialError(code, `DNS server ${endpoint}: ${reason}`, { cause: error });
}

/** The error of a connection that ended before the reply: the question may be repeated on another connection. */
export class UnansweredError extends WeirError {
  constructor(cause?: unknown) {
    const code = cause instanceof DeadlineError ? 'timed_out' : 'connection_lost';
    super(code, cause === undefined ? 'the connection was closed' : messageOf(cause), { cause });
  }
}

/** Asks with EDNS, and again without it if the server rejects it (RFC 6891 §7). */
export async function unlessEdnsRejected(
  ask: (edns: boolean) => Promise<DnsReply>,
): Promise<DnsReply> {
  const reply = await ask(true);
  return rejectsEdns(reply) ? ask(false) : reply;
}
