import { DialError, type DialErrorCode } from '../../net/errors.ts';
import { Reply } from './wire.ts';

/**
 * What a client is told when its destination was not reached. 0x06 for a timeout is what Tor and
 * Dante say; RFC 1928 has no code of its own for it.
 */
const REPLY_OF: Readonly<Record<DialErrorCode, Reply>> = {
  refused: Reply.refused,
  unreachable_host: Reply.hostUnreachable,
  unreachable_network: Reply.networkUnreachable,
  not_found: Reply.hostUnreachable,
  timed_out: Reply.ttlExpired,
  blocked: Reply.notAllowed,
  forbidden: Reply.notAllowed,
  loop: Reply.notAllowed,
  unsupported: Reply.commandUnsupported,
  upstream: Reply.failure,
  aborted: Reply.failure,
  failed: Reply.failure,
};

/** The reply to a request that failed. */
export const replyOf = (error: unknown): Reply =>
  error instanceof DialError ? REPLY_OF[error.code] : Reply.failure;

interface Meaning {
  readonly code: DialErrorCode;
  readonly text: string;
}

/** What the reply of a server means; the reverse of what this side answers its own clients. */
const MEANINGS: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [Reply.failure, { code: 'upstream', text: 'general failure' }],
  [Reply.notAllowed, { code: 'blocked', text: 'not allowed by its rules' }],
  [Reply.networkUnreachable, { code: 'unreachable_network', text: 'network unreachable' }],
  [Reply.hostUnreachable, { code: 'unreachable_host', text: 'host unreachable' }],
  [Reply.refused, { code: 'refused', text: 'connection refused' }],
  [Reply.ttlExpired, { code: 'timed_out', text: 'timed out' }],
  [Reply.commandUnsupported, { code: 'unsupported', text: 'command not supported' }],
  [Reply.addressUnsupported, { code: 'upstream', text: 'address type not supported' }],
]);

/** The meaning of any reply but success. */
export const meaningOf = (reply: number): Meaning =>
  MEANINGS.get(reply) ?? {
    code: 'upstream',
    text: `reply 0x${reply.toString(16).padStart(2, '0')}`,
  };
