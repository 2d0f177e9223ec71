/** What a client of `handshakes.py` has seen. */
export interface Outcome {
  /** Of the handshake that was completed. */
  readonly version: 'TLS 1.2' | 'TLS 1.3' | null;
  /** Descriptions of the alerts that came but close_notify (RFC 8446 §6). */
  readonly alerts: readonly number[];
  /** `served`: bytes came back through the tunnel; `open`: so far, of a server that has no tunnel. */
  readonly ended: 'served' | 'open' | 'end' | 'reset' | 'timeout';
}

const served = (version: Outcome['version'], ...alerts: readonly number[]): Outcome => ({
  version,
  alerts,
  ended: 'served',
});
const refused = (alert: number, version: Outcome['version'] = null): Outcome => ({
  version,
  alerts: [alert],
  ended: 'end',
});

/** Each with all of its outcome, which is that of nginx too but for `NGINX_DIFFERS`. */
export const HANDSHAKES: readonly (readonly [what: string, Outcome])[] = [
  ['a ClientHello in records of one byte', served('TLS 1.3')],
  ['a ClientHello in TCP segments of one byte', served('TLS 1.3')],
  ['a ClientHello in records and TCP segments of one byte', served('TLS 1.3')],
  ['a ClientHello of 60 KB', served('TLS 1.3')],
  ['GREASE', served('TLS 1.3')],
  ['unknown versions beside known ones', served('TLS 1.3')],
  ['a later version without supported_versions', served('TLS 1.2')],
  ['one ChangeCipherSpec after the ClientHello', served('TLS 1.3')],
  ['unknown versions alone', refused(70)], // protocol_version
  ['another major version', refused(70)],
  ['TLS 1.1', refused(70)],
  ['no cipher in common', refused(40)], // handshake_failure
  ['no group in common', refused(40)],
  ['no signature algorithm in common', refused(40)],
  ['no groups', refused(109)], // missing_extension
  ['no signature algorithms', refused(109)],
  ['no server name', served('TLS 1.3')],
  ['another server name', served('TLS 1.3')],
  ['an invalid server name', served('TLS 1.3')],
  ['a server name with a zero', refused(112)], // unrecognized_name
  ['no protocol in common', refused(120)], // no_application_protocol
  ['one protocol of two', served('TLS 1.3')],
  ['an empty protocol', refused(50)],
  ['compression', refused(47)],
  ['an extension twice', refused(47)],
  ['a session id of 33 bytes', refused(50)],
  ['a key share off the curve', refused(47)],
  ['an oversized ClientHello', refused(47)], // illegal_parameter
  ['an oversized handshake message after the handshake', refused(47, 'TLS 1.3')],
  ['a KeyUpdate that asks for something unknown', refused(47, 'TLS 1.3')],
  ['a record that cannot be decrypted', refused(20, 'TLS 1.3')], // bad_record_mac
  ['a record that cannot be decrypted in TLS 1.2', refused(20, 'TLS 1.2')],
  ['a record of another version', refused(50, 'TLS 1.3')], // decode_error
  ['a record of 65,535 bytes', refused(22, 'TLS 1.3')], // record_overflow
  ['an alert that is not encrypted', refused(10, 'TLS 1.3')], // unexpected_message
  ['HTTP in place of a record', refused(10, 'TLS 1.3')],
  ['an end without close_notify', { version: 'TLS 1.3', alerts: [], ended: 'end' }],
  ['an end without close_notify in TLS 1.2', { version: 'TLS 1.2', alerts: [], ended: 'end' }],
  ['renegotiation', served('TLS 1.2', 100)], // no_renegotiation
];

/**
 * The alerts of nginx where they are others: of the OpenSSL 3.0 of Debian's, where the OpenSSL 3.5 in Node has
 * newer ones. What is no longer so fails the test.
 */
export const NGINX_DIFFERS: Readonly<Record<string, Outcome>> = {
  'a record of another version': refused(70, 'TLS 1.3'), // protocol_version
  'HTTP in place of a record': refused(70, 'TLS 1.3'),
  compression: refused(50), // decode_error
};

/**
 * What is refused ends the connection, which may reset it before its alert is read. KeyUpdate may come
 * without end (RFC 8446 §4.6.3); it costs its sender as much, as a renegotiation that is refused does.
 */
export const FLOODS: readonly (readonly [what: string, 'closed' | 'served'])[] = [
  ['early data that was not offered', 'closed'],
  ['a flood of warnings in TLS 1.2', 'closed'],
  ['a flood of warnings in TLS 1.3', 'closed'],
  ['a flood of warnings before the handshake', 'closed'],
  ['a flood of empty records in TLS 1.2', 'closed'],
  ['a flood of empty records in TLS 1.3', 'closed'],
  ['a flood of empty records before the handshake', 'closed'],
  ['a flood of ChangeCipherSpec', 'closed'],
  ['a flood of renegotiations', 'served'],
  ['a flood of KeyUpdate', 'served'],
  ['a flood of KeyUpdate with responses', 'served'],
];
