import { WeirError } from '../../errors.ts';
import { transportErrorName } from '../errors.ts';
import type { CloseReason, StreamFailure } from '../contract.ts';

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
export function describe({ kind, by, code, reason }: CloseReason): string {
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
