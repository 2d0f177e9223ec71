import type { QuicError } from '../errors.ts';

/** The error with which a frame closes the connection; `undefined` if it is valid. */
export type FrameError = QuicError | undefined;

/**
 * Called by `FrameReader` for each frame except PADDING, in order. An error returned by a method ends the
 * reading. Byte ranges lie in the packet, and are valid during the call only.
 *
 * Limits (`maxData` and so on), delays and counts above 2^53 - 1 arrive as 2^53 - 1, and so do error
 * codes. Offsets, stream ids, packet numbers and sequence numbers are exact: a frame with a larger one is an
 * error, because this implementation never issues one.
 */
export interface FrameVisitor {
  ping(): FrameError;
  /**
   * Called at the start of an ACK frame. Its ranges follow, in descending order, then `ackEnd`. If the frame is
   * malformed, `ackEnd` is not called and the reader returns the error.
   *
   * @param delay as received: microseconds divided by 2 ^ ack_delay_exponent.
   */
  ackStart(largest: number, delay: number): FrameError;
  /** Called for an inclusive range of received packets. */
  ackRange(smallest: number, largest: number): FrameError;
  /** Called at the end of an ACK frame, with its ECN counts; 0 if the frame has none. */
  ackEnd(hasEcn: boolean, ect0: number, ect1: number, ce: number): FrameError;
  resetStream(id: number, code: number, finalSize: number): FrameError;
  stopSending(id: number, code: number): FrameError;
  crypto(offset: number, bytes: Uint8Array, at: number, size: number): FrameError;
  newToken(bytes: Uint8Array, at: number, size: number): FrameError;
  stream(
    id: number,
    offset: number,
    bytes: Uint8Array,
    at: number,
    size: number,
    fin: boolean,
  ): FrameError;
  maxData(limit: number): FrameError;
  maxStreamData(id: number, limit: number): FrameError;
  maxStreams(bidirectional: boolean, limit: number): FrameError;
  dataBlocked(limit: number): FrameError;
  streamDataBlocked(id: number, limit: number): FrameError;
  streamsBlocked(bidirectional: boolean, limit: number): FrameError;
  /** Called for NEW_CONNECTION_ID; the reset token has 16 bytes. */
  newConnectionId(
    sequence: number,
    retirePriorTo: number,
    bytes: Uint8Array,
    idAt: number,
    idSize: number,
    resetTokenAt: number,
  ): FrameError;
  retireConnectionId(sequence: number): FrameError;
  /** Called for PATH_CHALLENGE; the data has 8 bytes. */
  pathChallenge(bytes: Uint8Array, at: number): FrameError;
  pathResponse(bytes: Uint8Array, at: number): FrameError;
  /** Called for CONNECTION_CLOSE; the reason should be UTF-8, but may be any bytes. */
  connectionClose(
    code: number,
    frameType: number,
    bytes: Uint8Array,
    reasonAt: number,
    reasonSize: number,
  ): FrameError;
  applicationClose(
    code: number,
    bytes: Uint8Array,
    reasonAt: number,
    reasonSize: number,
  ): FrameError;
  handshakeDone(): FrameError;
  /** Called for DATAGRAM. The visitor must check that datagrams of this size were announced (RFC 9221 §3). */
  datagram(bytes: Uint8Array, at: number, size: number): FrameError;
}
