import { tlsReasonInWords } from '@weir/io/tls';
import { shownForeign } from '@weir/io/addresses';

/** Beginning of Node's message of a name mismatch, before the expected name and the names of the certificate. */
const MISMATCH = "Hostname/IP does not match certificate's altnames";

/** Advice for failed client handshakes, by the beginning of their messages. */
const ADVICE: readonly (readonly [start: string, advice: string])[] = [
  ['certificate has expired', 'it has to be renewed, unless the clock of this machine is wrong'],
  ['certificate is not yet valid', 'the clock of this machine may be wrong'],
  ['self-signed certificate in', 'its authority is unknown here: name that in ca_file'],
  ['self-signed certificate', 'name it in ca_file to trust it'],
  [
    'unable to get local issuer certificate',
    'its authority is unknown here, or the server does not send the intermediate certificates; ca_file may name either',
  ],
  [
    'unable to verify the first certificate',
    'its authority is unknown here, or the server does not send the intermediate certificates; ca_file may name either',
  ],
  [MISMATCH, 'server_name has to be a name of it'],
  ['the peer does not speak TLS', 'the port may be another one, or one without TLS'],
];

/** Appends advice for the user to the reason of a failed handshake, if there is any. */
export function withAdvice(reason: string): string {
  const [start, advice] = ADVICE.find(([start]) => reason.startsWith(start)) ?? [];
  const text = start === MISMATCH ? shownForeign(reason, start) : reason;
  return advice === undefined ? text : `${text} (${advice})`;
}

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
