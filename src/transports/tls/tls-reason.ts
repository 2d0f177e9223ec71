import { tlsReasonInWords } from '../../platform/tls/tls-reasons.ts';

/**
 * Returns the reason why a handshake failed, as text. The message of an OpenSSL error is a line of its error queue,
 * with a pointer, a number and a source position; Node has the readable part in `reason`.
 */
export function tlsReason(error: Error): string {
  const reason: unknown = 'reason' in error ? error.reason : undefined;
  // The removed part recommends an option of Node.
  if (typeof reason !== 'string') return error.message.replace(/; if the root CA is .*/s, '');
  return tlsReasonOf(reason);
}

/** Returns a reason of OpenSSL as text. */
export function tlsReasonOf(reason: string): string {
  const alert = /\balert (.+)/s.exec(reason)?.[1];
  return alert === undefined ? tlsReasonInWords(reason) : `the peer sent the alert: ${alert}`;
}
