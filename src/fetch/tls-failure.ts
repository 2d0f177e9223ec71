import { messageOf } from '../errors.ts';
import { DialError } from '../net/errors.ts';
import { tlsReason } from '../transports/tls/tls-reason.ts';

/**
 * Why a NodeClient has not connected, without what its message has for outbounds: the name of their server,
 * and advice on their settings.
 */
export function tlsFailure(error: unknown): string {
  const cause = error instanceof DialError && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? tlsReason(cause) : messageOf(cause);
}
