/** What OpenSSL's own words do not say to whoever has not read its source. */
const REASONS: Readonly<Record<string, string>> = {
  'wrong version number': 'the peer does not speak TLS',
  'http request': 'the peer speaks HTTP without TLS',
  'unsupported protocol': 'the peer speaks no version of TLS that is allowed here',
  'no application protocol': 'the peer offers no application protocol that fits',
};

/**
 * Why a handshake failed, in words: the message of an error of OpenSSL is a line of its queue, with
 * a pointer, a number and a place in its source; Node puts the one part for people in `reason`.
 */
export function tlsReason(error: Error): string {
  const reason: unknown = 'reason' in error ? error.reason : undefined;
  // Advice for somebody who runs Node by hand.
  if (typeof reason !== 'string') return error.message.replace(/; if the root CA is .*/s, '');
  const alert = /\balert (.+)/s.exec(reason)?.[1];
  return alert === undefined ? (REASONS[reason] ?? reason) : `the peer's alert: ${alert}`;
}
