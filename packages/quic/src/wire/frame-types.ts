import { PacketType } from './packet-header.ts';
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
  /** The first of eight types: bits 0x04 offset, 0x02 length, 0x01 FIN. */
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

/** The types of packet that contain frames. */
export type FramesPacketType =
  | typeof PacketType.INITIAL
  | typeof PacketType.ZERO_RTT
  | typeof PacketType.HANDSHAKE
  | typeof PacketType.ONE_RTT;

/** Bits for sets of packet types, named as in table 3 of RFC 9000 §12.4. */
const I = 1 << PacketType.INITIAL;
const Z = 1 << PacketType.ZERO_RTT;
const H = 1 << PacketType.HANDSHAKE;
const O = 1 << PacketType.ONE_RTT;

/** The marks N (not ack-eliciting) and P (probing) of table 3. */
export const NOT_ELICITING = 1 << 6;
export const PROBING = 1 << 7;
const N = NOT_ELICITING;
const P = PROBING;

/**
 * Rules by frame type: the packets that may contain it, and its marks (RFC 9000 table 3, RFC 9221 §4); 0 for an unknown
 * type.
 */
const RULES = new Uint8Array(64);
RULES[FrameType.PADDING] = I | H | Z | O | N | P;
RULES[FrameType.PING] = I | H | Z | O;
RULES[FrameType.ACK] = I | H | O | N;
RULES[FrameType.ACK_ECN] = I | H | O | N;
RULES[FrameType.RESET_STREAM] = Z | O;
RULES[FrameType.STOP_SENDING] = Z | O;
RULES[FrameType.CRYPTO] = I | H | O;
RULES[FrameType.NEW_TOKEN] = O;
RULES.fill(Z | O, FrameType.STREAM, FrameType.NEW_CONNECTION_ID);
RULES[FrameType.NEW_CONNECTION_ID] = Z | O | P;
RULES[FrameType.RETIRE_CONNECTION_ID] = Z | O;
RULES[FrameType.PATH_CHALLENGE] = Z | O | P;
RULES[FrameType.PATH_RESPONSE] = O | P;
RULES[FrameType.CONNECTION_CLOSE] = I | H | Z | O | N;
RULES[FrameType.APPLICATION_CLOSE] = Z | O | N;
RULES[FrameType.HANDSHAKE_DONE] = O;
RULES[FrameType.DATAGRAM] = Z | O;
RULES[FrameType.DATAGRAM_WITH_LENGTH] = Z | O;

/** Returns the bits of a frame type: the packets that may contain it, and its marks; 0 for an unknown type. */
export const rulesOf = (type: number): number => RULES[type] ?? 0;

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
  readonly streams: StreamFrameVisitor;
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
  crypto(offset: number, bytes: Uint8Array, at: number, size: number): FrameError;
  newToken(bytes: Uint8Array, at: number, size: number): FrameError;
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

/** Called for frames of streams and of their limits; the part of `FrameVisitor` that `Streams` implements. */
export interface StreamFrameVisitor {
  resetStream(id: number, code: number, finalSize: number): FrameError;
  stopSending(id: number, code: number): FrameError;
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
}
