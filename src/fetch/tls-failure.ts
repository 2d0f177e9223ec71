import { messageOf } from '../errors.ts';
import { DialError } from '../net/errors.ts';
import { tlsReason } from '../transports/tls/tls-reason.ts';

/**
 * The reason of a NodeClient's failed connection, without the parts of its message for outbounds: the name of their
 * server, and advice on their settings.
 */
export function tlsFailure(error: unknown): string {
  const cause = error instanceof DialError && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? tlsReason(cause) : messageOf(cause);
}
