import { codeNames, PeerError } from '../peer-error.ts';

/** Error codes of HTTP/2 (RFC 9113 §7). */
export const Http2ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
  INADEQUATE_SECURITY: 0xc,
  HTTP_1_1_REQUIRED: 0xd,
} as const;

type Http2ErrorName = keyof typeof Http2ErrorCode;

/** Returns the name of an error code, for logs. */
export const http2ErrorName = codeNames(Http2ErrorCode);

/** A violation of HTTP/2 by the peer, which ends its stream or the connection with one of RFC 9113's error codes. */
export class Http2Error extends PeerError<Http2ErrorName> {}

/** Creates an error that ends the connection. */
export const connectionError = (name: Http2ErrorName, reason: string): Http2Error =>
  new Http2Error('connection', name, Http2ErrorCode[name], reason);

/** Creates an error that ends one stream. */
export const streamError = (name: Http2ErrorName, reason: string): Http2Error =>
  new Http2Error('stream', name, Http2ErrorCode[name], reason);
