import { tlsReasonInWords } from '../../platform/tls/tls-reasons.ts';

/**
 * Why a handshake failed, in words. The message of an OpenSSL error is a line of its queue, with a
 * pointer, a number and a place in its source; Node puts the readable part in `reason`.
 */
export function tlsReason(error: Error): string {
  const reason: unknown = 'reason' in error ? error.reason : undefined;
  // The part removed advises to set an option of Node.
  if (typeof reason !== 'string') return error.message.replace(/; if the root CA is .*/s, '');
  return tlsReasonOf(reason);
}

/** A reason of OpenSSL in words. */
export function tlsReasonOf(reason: string): string {
  const alert = /\balert (.+)/s.exec(reason)?.[1];
  return alert === undefined ? tlsReasonInWords(reason) : `the peer sent the alert: ${alert}`;
}
