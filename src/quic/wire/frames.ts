import type { QuicError } from '../errors.ts';

/** Frame types (RFC 9000 §19, RFC 9221 §4). */
export const FrameType = {
  PADDING: 0x00,
  PING: 0x01,
  ACK: 0x02,
  ACK_ECN: 0x03,
  RESET_STREAM: 0x04,
  STOP_SENDING: 0x05,
  CRYPTO: 0x06,
  NEW_TOKEN: 0x07,
  /** The first of eight: bits 0x04 offset, 0x02 length, 0x01 FIN. */
  STREAM: 0x08,
  MAX_DATA: 0x10,
  MAX_STREAM_DATA: 0x11,
  MAX_STREAMS_BIDIRECTIONAL: 0x12,
  MAX_STREAMS_UNIDIRECTIONAL: 0x13,
  DATA_BLOCKED: 0x14,
  STREAM_DATA_BLOCKED: 0x15,
  STREAMS_BLOCKED_BIDIRECTIONAL: 0x16,
  STREAMS_BLOCKED_UNIDIRECTIONAL: 0x17,
  NEW_CONNECTION_ID: 0x18,
  RETIRE_CONNECTION_ID: 0x19,
  PATH_CHALLENGE: 0x1a,
  PATH_RESPONSE: 0x1b,
  CONNECTION_CLOSE: 0x1c,
  APPLICATION_CLOSE: 0x1d,
  HANDSHAKE_DONE: 0x1e,
  DATAGRAM: 0x30,
  DATAGRAM_WITH_LENGTH: 0x31,
} as const;

/** What a visitor makes of a frame: nothing, or why the connection has to be closed. */
export type Verdict = QuicError | undefined;

/**
 * What `FrameReader` calls for each frame, in their order. An error that a method returns ends the
 * reading. Byte ranges are parts of the packet, and only valid during the call.
 *
 * Limits (`maxData` and so on), delays and counts above 2^53 - 1 arrive as 2^53 - 1, and so do error
 * codes. Offsets, stream ids, packet numbers and sequence numbers are exact: a frame with a larger
 * one is an error, because none is ever issued here.
 */
export interface FrameVisitor {
  ping(): Verdict;
  /**
   * An ACK frame starts; its ranges follow, the newest first, then `ackEnd`. When the frame is
   * malformed, `ackEnd` is not called and the reader returns the error.
   *
   * @param delay as received: microseconds divided by 2 ^ ack_delay_exponent.
   */
  ackStart(largest: number, delay: number): Verdict;
  /** Packets that were received, both included. */
  ackRange(smallest: number, largest: number): Verdict;
  /** The counts of ECN marks so far, 0 when the frame has none. */
  ackEnd(hasEcn: boolean, ect0: number, ect1: number, ce: number): Verdict;
  resetStream(id: number, code: number, finalSize: number): Verdict;
  stopSending(id: number, code: number): Verdict;
  crypto(offset: number, bytes: Uint8Array, at: number, size: number): Verdict;
  newToken(bytes: Uint8Array, at: number, size: number): Verdict;
  stream(
    id: number,
    offset: number,
    bytes: Uint8Array,
    at: number,
    size: number,
    fin: boolean,
  ): Verdict;
  maxData(limit: number): Verdict;
  maxStreamData(id: number, limit: number): Verdict;
  maxStreams(bidirectional: boolean, limit: number): Verdict;
  dataBlocked(limit: number): Verdict;
  streamDataBlocked(id: number, limit: number): Verdict;
  streamsBlocked(bidirectional: boolean, limit: number): Verdict;
  /** The reset token has 16 bytes. */
  newConnectionId(
    sequence: number,
    retirePriorTo: number,
    bytes: Uint8Array,
    idAt: number,
    idSize: number,
    resetTokenAt: number,
  ): Verdict;
  retireConnectionId(sequence: number): Verdict;
  /** The data has 8 bytes. */
  pathChallenge(bytes: Uint8Array, at: number): Verdict;
  pathResponse(bytes: Uint8Array, at: number): Verdict;
  /** The reason is UTF-8 at best. */
  connectionClose(
    code: number,
    frameType: number,
    bytes: Uint8Array,
    reasonAt: number,
    reasonSize: number,
  ): Verdict;
  applicationClose(code: number, bytes: Uint8Array, reasonAt: number, reasonSize: number): Verdict;
  handshakeDone(): Verdict;
  /** Whether datagrams were announced, and how large, is the visitor's to check (RFC 9221 §3). */
  datagram(bytes: Uint8Array, at: number, size: number): Verdict;
}

/** Reads the frames of packets into a visitor, without allocation. */
export declare class FrameReader {
  /** @param receiver the side that reads: only clients may receive NEW_TOKEN and HANDSHAKE_DONE. */
  constructor(receiver: 'client' | 'server');
  /** Whether the packet read last requires an acknowledgement (RFC 9002 §2). */
  readonly ackEliciting: boolean;
  /** Whether the packet read last has probing frames only (RFC 9000 §9.1). */
  readonly probing: boolean;
  /**
   * Reads the plaintext of a packet, the bytes from `start` to `end`.
   *
   * @param type an INITIAL, HANDSHAKE, ZERO_RTT or ONE_RTT of `PacketType`.
   * @returns the first error, of the frames or of the visitor.
   */
  read(
    bytes: Uint8Array,
    start: number,
    end: number,
    type: number,
    visitor: FrameVisitor,
  ): QuicError | undefined;
}
