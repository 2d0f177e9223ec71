import type { QuicError } from '../errors.ts';

/** What a visitor makes of a frame: nothing, or why the connection has to be closed. */
export type FrameError = QuicError | undefined;

/**
 * What `FrameReader` calls for each frame but PADDING, in their order. An error that a method returns
 * ends the reading. Byte ranges are parts of the packet, and only valid during the call.
 *
 * Limits (`maxData` and so on), delays and counts above 2^53 - 1 arrive as 2^53 - 1, and so do error
 * codes. Offsets, stream ids, packet numbers and sequence numbers are exact: a frame with a larger
 * one is an error, because none is ever issued here.
 */
export interface FrameVisitor {
  ping(): FrameError;
  /**
   * An ACK frame starts; its ranges follow, the newest first, then `ackEnd`. When the frame is
   * malformed, `ackEnd` is not called and the reader returns the error.
   *
   * @param delay as received: microseconds divided by 2 ^ ack_delay_exponent.
   */
  ackStart(largest: number, delay: number): FrameError;
  /** Packets that were received, both included. */
  ackRange(smallest: number, largest: number): FrameError;
  /** The counts of ECN marks so far, 0 when the frame has none. */
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
  /** The reset token has 16 bytes. */
  newConnectionId(
    sequence: number,
    retirePriorTo: number,
    bytes: Uint8Array,
    idAt: number,
    idSize: number,
    resetTokenAt: number,
  ): FrameError;
  retireConnectionId(sequence: number): FrameError;
  /** The data has 8 bytes. */
  pathChallenge(bytes: Uint8Array, at: number): FrameError;
  pathResponse(bytes: Uint8Array, at: number): FrameError;
  /** The reason is UTF-8 at best. */
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
  /** Whether datagrams were announced, and how large, is the visitor's to check (RFC 9221 §3). */
  datagram(bytes: Uint8Array, at: number, size: number): FrameError;
}
