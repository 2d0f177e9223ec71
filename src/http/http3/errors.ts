/** Error codes of HTTP/3 (RFC 9114 §8.1) and QPACK (RFC 9204 §6). */
export const Http3ErrorCode = {
  H3_NO_ERROR: 0x0100,
  H3_GENERAL_PROTOCOL_ERROR: 0x0101,
  H3_INTERNAL_ERROR: 0x0102,
  H3_STREAM_CREATION_ERROR: 0x0103,
  H3_CLOSED_CRITICAL_STREAM: 0x0104,
  H3_FRAME_UNEXPECTED: 0x0105,
  H3_FRAME_ERROR: 0x0106,
  H3_EXCESSIVE_LOAD: 0x0107,
  H3_ID_ERROR: 0x0108,
  H3_SETTINGS_ERROR: 0x0109,
  H3_MISSING_SETTINGS: 0x010a,
  H3_REQUEST_REJECTED: 0x010b,
  H3_REQUEST_CANCELLED: 0x010c,
  H3_REQUEST_INCOMPLETE: 0x010d,
  H3_MESSAGE_ERROR: 0x010e,
  H3_CONNECT_ERROR: 0x010f,
  H3_VERSION_FALLBACK: 0x0110,
  QPACK_DECOMPRESSION_FAILED: 0x0200,
  QPACK_ENCODER_STREAM_ERROR: 0x0201,
  QPACK_DECODER_STREAM_ERROR: 0x0202,
} as const;

export type Http3ErrorName = keyof typeof Http3ErrorCode;

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(Http3ErrorCode).map(([name, code]) => [code, name]),
);

/** The name of an application error code, for logs; hexadecimal for one that is not HTTP/3's. */
export const http3ErrorName = (code: number): string => NAMES.get(code) ?? `0x${code.toString(16)}`;

/**
 * A rule of HTTP/3 that the peer broke. A value and not an exception: nothing that a peer sends makes
 * a parser throw.
 */
export class Http3Error {
  /** What ends with it: the connection, or one request stream (RFC 9114 §8). */
  readonly scope: 'connection' | 'stream';
  readonly code: number;
  /** Printable ASCII, for the peer's log and for ours. */
  readonly reason: string;

  constructor(scope: 'connection' | 'stream', name: Http3ErrorName, reason: string) {
    this.scope = scope;
    this.code = Http3ErrorCode[name];
    this.reason = reason;
  }
}

/** An error that ends the connection. */
export const connectionError = (name: Http3ErrorName, reason: string): Http3Error =>
  new Http3Error('connection', name, reason);

/** An error that ends one request. */
export const streamError = (name: Http3ErrorName, reason: string): Http3Error =>
  new Http3Error('stream', name, reason);
