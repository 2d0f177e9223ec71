import { WeirError } from '@weir/base';
import type { CloseReason, StreamFailure } from './contract.ts';

/** Transport error codes (RFC 9000 §20.1, RFC 9001 §6.6). */
export const TransportErrorCode = {
  NO_ERROR: 0x00,
  INTERNAL_ERROR: 0x01,
  CONNECTION_REFUSED: 0x02,
  FLOW_CONTROL_ERROR: 0x03,
  STREAM_LIMIT_ERROR: 0x04,
  STREAM_STATE_ERROR: 0x05,
  FINAL_SIZE_ERROR: 0x06,
  FRAME_ENCODING_ERROR: 0x07,
  TRANSPORT_PARAMETER_ERROR: 0x08,
  CONNECTION_ID_LIMIT_ERROR: 0x09,
  PROTOCOL_VIOLATION: 0x0a,
  INVALID_TOKEN: 0x0b,
  APPLICATION_ERROR: 0x0c,
  CRYPTO_BUFFER_EXCEEDED: 0x0d,
  KEY_UPDATE_ERROR: 0x0e,
  AEAD_LIMIT_REACHED: 0x0f,
  NO_VIABLE_PATH: 0x10,
} as const;

/** The first of the 256 codes that carry a TLS alert (RFC 9001 §4.8). */
const CRYPTO_ERROR = 0x0100;

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(TransportErrorCode).map(([name, code]) => [code, name]),
);

/** Returns the transport error code for a TLS alert. */
export const cryptoErrorCode = (alert: number): number => CRYPTO_ERROR + (alert & 0xff);

/** Returns the TLS alert in a transport error code, when it carries one. */
const alertOf = (code: number): number | undefined =>
  code >= CRYPTO_ERROR && code <= CRYPTO_ERROR + 0xff ? code - CRYPTO_ERROR : undefined;

/** Returns the name of a transport error code, for logs: `CRYPTO_ERROR(42)` for TLS alerts, otherwise hexadecimal. */
function transportErrorName(code: number): string {
  const alert = alertOf(code);
  if (alert !== undefined) return `CRYPTO_ERROR(${alert})`;
  return NAMES.get(code) ?? `0x${code.toString(16)}`;
}

/**
 * A connection error: the fields of CONNECTION_CLOSE of type 0x1c. It is a value and not an exception, because
 * nothing that a peer sends makes a core throw.
 */
export class QuicError {
  /** One of `TransportErrorCode`, or of the range of TLS alerts. */
  readonly code: number;
  /** The type of the frame that caused the error; 0 for none. */
  readonly frameType: number;
  /** Printable ASCII, for the logs of both sides. */
  readonly reason: string;

  constructor(code: number, reason: string, frameType = 0) {
    this.code = code;
    this.reason = reason;
    this.frameType = frameType;
  }
}

/** The error of an operation on a connection, or on one of its streams, after the connection has ended. */
export class ConnectionEndedError extends WeirError {
  readonly closeReason: CloseReason;

  constructor(closeReason: CloseReason) {
    super('quic_connection_ended', describe(closeReason));
    this.closeReason = closeReason;
  }
}

/** The error of a stream that the peer has ended with a code, by RESET_STREAM or STOP_SENDING. */
export class StreamFailedError extends WeirError implements StreamFailure {
  readonly streamCode: number;

  constructor(what: 'reset' | 'stopped', streamCode: number) {
    const text = what === 'reset' ? 'the peer reset the stream' : 'the peer stopped the stream';
    super('quic_stream_failed', `${text} (code 0x${streamCode.toString(16)})`);
    this.streamCode = streamCode;
  }
}

/** Describes the end of a connection, for log lines and errors. */
function describe({ kind, by, code, reason }: CloseReason): string {
  const text = reason === '' ? '' : `: ${reason}`;
  switch (kind) {
    case 'application': {
      const who = by === 'peer' ? 'the peer closed the connection' : 'the connection was closed';
      return `${who} (code 0x${code.toString(16)})${text}`;
    }
    case 'transport': {
      const who = by === 'peer' ? 'the peer ended the connection' : 'the connection was ended';
      return `${who} with ${transportErrorName(code)}${text}`;
    }
    case 'idle':
      return reason === '' ? 'the connection was silent for too long' : reason;
    case 'stateless-reset':
      return 'the peer has forgotten the connection (stateless reset)';
    case 'version':
      return reason === '' ? 'the peer does not speak QUIC version 1' : reason;
    default:
      return kind satisfies never;
  }
}
