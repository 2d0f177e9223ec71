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

export type Http2ErrorName = keyof typeof Http2ErrorCode;

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(Http2ErrorCode).map(([name, code]) => [code, name]),
);

/** The name of an error code, for logs; hexadecimal for one that RFC 9113 does not know. */
export const http2ErrorName = (code: number): string => NAMES.get(code) ?? `0x${code.toString(16)}`;

/**
 * A rule of HTTP/2 that the peer broke. A value and not an exception: nothing that a peer sends makes
 * the core throw.
 */
export class Http2Error {
  /** What ends with it: the connection, or one stream (RFC 9113 §5.4). */
  readonly scope: 'connection' | 'stream';
  readonly name: Http2ErrorName;
  /** Printable ASCII, for the peer's log and for ours. */
  readonly reason: string;

  constructor(scope: 'connection' | 'stream', name: Http2ErrorName, reason: string) {
    this.scope = scope;
    this.name = name;
    this.reason = reason;
  }

  get code(): number {
    return Http2ErrorCode[this.name];
  }
}

/** An error that ends the connection. */
export const connectionError = (name: Http2ErrorName, reason: string): Http2Error =>
  new Http2Error('connection', name, reason);

/** An error that ends one stream. */
export const streamError = (name: Http2ErrorName, reason: string): Http2Error =>
  new Http2Error('stream', name, reason);
