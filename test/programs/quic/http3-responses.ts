/** What a server did: the HTTP status, or the code with which it closed, reset or stopped. */
export interface Response {
  readonly status?: string;
  readonly closed?: string;
  readonly reset?: string;
  readonly stopped?: string;
}

/**
 * What Caddy 2.6 of Debian does instead; its quic-go is of 2022. Of the differences here quic-go 0.65 still
 * has those in which it leaves out a check that RFC 9114 demands.
 *
 * - `same`: the same.
 * - `passed`: it responds to the request nevertheless.
 * - `ignored`: it does nothing.
 * - `other`: it uses another code than RFC 9114 or RFC 9204 name.
 */
export type CaddyDoes = 'same' | 'passed' | 'ignored' | 'other';

/** What Weir does on each sequence of `illegal-http3.py`: what RFC 9114 and RFC 9204 demand. */
export const RESPONSES: readonly (readonly [what: string, weir: Response, caddy: CaddyDoes])[] = [
  ['a request', { status: '404' }, 'same'],
  ['no SETTINGS at all', { status: '404' }, 'same'],
  ['DATA before HEADERS', { closed: '0x105' }, 'same'], // H3_FRAME_UNEXPECTED
  ['DATA after trailers', { closed: '0x105' }, 'passed'], // H3_FRAME_UNEXPECTED
  ['two SETTINGS', { closed: '0x105' }, 'passed'], // H3_FRAME_UNEXPECTED
  ['another frame before SETTINGS', { closed: '0x10a' }, 'ignored'], // H3_MISSING_SETTINGS
  ['DATA on the control stream', { closed: '0x105' }, 'ignored'], // H3_FRAME_UNEXPECTED
  ['HEADERS on the control stream', { closed: '0x105' }, 'ignored'], // H3_FRAME_UNEXPECTED
  ['SETTINGS on a request', { closed: '0x105' }, 'same'], // H3_FRAME_UNEXPECTED
  ['GOAWAY on a request', { closed: '0x105' }, 'ignored'], // H3_FRAME_UNEXPECTED
  ['PUSH_PROMISE on a request', { closed: '0x105' }, 'ignored'], // H3_FRAME_UNEXPECTED
  ['a setting of HTTP/2', { closed: '0x109' }, 'ignored'], // H3_SETTINGS_ERROR
  ['a setting twice', { closed: '0x109' }, 'other'], // H3_SETTINGS_ERROR
  ['truncated SETTINGS', { closed: '0x106' }, 'same'], // H3_FRAME_ERROR
  ['a frame type of HTTP/2', { closed: '0x105' }, 'passed'], // H3_FRAME_UNEXPECTED
  ['reserved frames', { status: '404' }, 'same'],
  ['a reserved stream', { status: '404' }, 'same'],
  ['two control streams', { closed: '0x103' }, 'ignored'], // H3_STREAM_CREATION_ERROR
  ['two encoder streams', { closed: '0x103' }, 'ignored'], // H3_STREAM_CREATION_ERROR
  ['a push stream of a client', { closed: '0x103' }, 'same'], // H3_STREAM_CREATION_ERROR
  ['the end of the control stream', { closed: '0x104' }, 'ignored'], // H3_CLOSED_CRITICAL_STREAM
  ['the end of the encoder stream', { closed: '0x104' }, 'ignored'], // H3_CLOSED_CRITICAL_STREAM
  ['GOAWAY with a push ID', { status: '404' }, 'same'],
  ['GOAWAY with a larger push ID', { closed: '0x108' }, 'passed'], // H3_ID_ERROR
  ['MAX_PUSH_ID that shrinks', { closed: '0x108' }, 'passed'], // H3_ID_ERROR
  ['CANCEL_PUSH', { closed: '0x108' }, 'passed'], // H3_ID_ERROR
  ['an invalid field section', { closed: '0x200' }, 'other'], // QPACK_DECOMPRESSION_FAILED
  ['a reference to the dynamic table', { closed: '0x200' }, 'other'], // QPACK_DECOMPRESSION_FAILED
  ['an invalid encoder instruction', {}, 'same'],
  ['an invalid decoder instruction', { closed: '0x202' }, 'ignored'], // QPACK_DECODER_STREAM_ERROR
  ['no method', { reset: '0x10e' }, 'other'], // H3_MESSAGE_ERROR
  ['no path', { reset: '0x10e' }, 'other'], // H3_MESSAGE_ERROR
  ['no authority', { reset: '0x10e' }, 'other'], // H3_MESSAGE_ERROR
  ['no scheme', { reset: '0x10e' }, 'passed'], // H3_MESSAGE_ERROR
  ['a pseudo-field twice', { reset: '0x10e' }, 'passed'], // H3_MESSAGE_ERROR
  ['an unknown pseudo-field', { reset: '0x10e' }, 'passed'], // H3_MESSAGE_ERROR
  ['a pseudo-field after others', { reset: '0x10e' }, 'passed'], // H3_MESSAGE_ERROR
  ['a name in upper case', { reset: '0x10e' }, 'passed'], // H3_MESSAGE_ERROR
  ['a field of a connection', { reset: '0x10e' }, 'passed'], // H3_MESSAGE_ERROR
  ['te: gzip', { reset: '0x10e' }, 'passed'], // H3_MESSAGE_ERROR
  ['oversize fields', { reset: '0x107', stopped: '0x107' }, 'passed'], // H3_EXCESSIVE_LOAD
  ['a body shorter than its length', { reset: '0x10e' }, 'passed'], // H3_MESSAGE_ERROR
  ['a body longer than its length', { reset: '0x10e' }, 'passed'], // H3_MESSAGE_ERROR
  ['CONNECT', { status: '404' }, 'same'],
  ['half a frame, and the end', { closed: '0x106' }, 'other'], // H3_FRAME_ERROR
  ['an empty request', { reset: '0x10d' }, 'same'], // H3_REQUEST_INCOMPLETE
  ['a frame longer than the stream', { closed: '0x106' }, 'passed'], // H3_FRAME_ERROR
];
