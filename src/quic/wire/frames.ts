import { QuicError, TransportErrorCode } from '../errors.ts';
import { MAX_CONNECTION_ID, PacketType, RESET_TOKEN_SIZE } from './packet-header.ts';
import { readVarint, TOO_LARGE, TRUNCATED, varintSizeAt } from './varint.ts';

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
 * What `FrameReader` calls for each frame but PADDING, in their order. An error that a method returns
 * ends the reading. Byte ranges are parts of the packet, and only valid during the call.
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

const {
  FLOW_CONTROL_ERROR,
  STREAM_LIMIT_ERROR,
  FRAME_ENCODING_ERROR,
  PROTOCOL_VIOLATION,
  CRYPTO_BUFFER_EXCEEDED,
} = TransportErrorCode;

/** The types of packet that frames arrive in, and bits for sets of them. */
export type FramesPacketType =
  | typeof PacketType.INITIAL
  | typeof PacketType.ZERO_RTT
  | typeof PacketType.HANDSHAKE
  | typeof PacketType.ONE_RTT;

const I = 1 << PacketType.INITIAL;
const Z = 1 << PacketType.ZERO_RTT;
const H = 1 << PacketType.HANDSHAKE;
const O = 1 << PacketType.ONE_RTT;

/** Marks of table 3 besides the packet types: no acknowledgement needed, and probing (RFC 9000 §12.4). */
const N = 1 << 6;
const P = 1 << 7;

/** RFC 9000 §12.4, table 3, and RFC 9221 §4: what may hold a frame of each type. 0: no such type. */
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

/** Whether packets of this type may hold frames of that type (RFC 9000 §12.4, table 3). */
export const isFrameAllowed = (type: number, packet: FramesPacketType): boolean =>
  ((RULES[type] ?? 0) & (1 << packet)) !== 0;

const PATH_DATA_SIZE = 8;

/** Bits of the type of STREAM frames (§19.8). */
const FIN = 0x01;
const HAS_LENGTH = 0x02;
const HAS_OFFSET = 0x04;

/**
 * Reads the frames of packets into a visitor, without allocation. Work is linear in the packet, and so
 * is the number of ranges of an ACK.
 *
 * The private methods read one frame from `#at` on, behind its type. Where the bytes end too early they
 * set `#truncated`, which is looked at once for a frame, before any of its numbers is used.
 */
export class FrameReader {
  readonly #receiver: 'client' | 'server';
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #end = 0;
  #type = 0;
  #truncated = false;
  #ackEliciting = false;
  #probing = false;

  /** @param receiver the side that reads: only clients may receive NEW_TOKEN and HANDSHAKE_DONE. */
  constructor(receiver: 'client' | 'server') {
    this.#receiver = receiver;
  }

  /** Whether the packet read last requires an acknowledgement (RFC 9002 §2). */
  get ackEliciting(): boolean {
    return this.#ackEliciting;
  }

  /** Whether the packet read last has probing frames only (RFC 9000 §9.1). */
  get probing(): boolean {
    return this.#probing;
  }

  /**
   * Reads the plaintext of a packet, the bytes from `start` to `end`.
   *
   * @returns the first error, of the frames or of the visitor.
   */
  read(
    bytes: Uint8Array,
    start: number,
    end: number,
    packet: FramesPacketType,
    visitor: FrameVisitor,
  ): QuicError | undefined {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#truncated = false;
    this.#ackEliciting = false;
    this.#probing = true;
    if (start >= end) return new QuicError(PROTOCOL_VIOLATION, 'a packet without frames');
    const allowed = 1 << packet;
    while (this.#at < end) {
      const type = bytes[this.#at] as number; // below `end`
      const rules = RULES[type] ?? 0;
      this.#type = type;
      if (rules === 0) return this.#unknownType();
      if ((rules & allowed) === 0) {
        return this.#fault(PROTOCOL_VIOLATION, 'a frame that this type of packet must not hold');
      }
      if ((rules & N) === 0) this.#ackEliciting = true;
      if ((rules & P) === 0) this.#probing = false;
      this.#at++;
      const error = this.#readFrame(visitor);
      if (error !== undefined) return error;
    }
    return undefined;
  }

  #readFrame(visitor: FrameVisitor): Verdict {
    const type = this.#type;
    if ((type & 0xf8) === FrameType.STREAM) return this.#readStream(visitor);
    switch (type) {
      case FrameType.PADDING:
        while (this.#at < this.#end && this.#bytes[this.#at] === 0) this.#at++;
        return undefined;
      case FrameType.PING:
        return visitor.ping();
      case FrameType.ACK:
      case FrameType.ACK_ECN:
        return this.#readAck(visitor);
      case FrameType.RESET_STREAM:
        return this.#readResetStream(visitor);
      case FrameType.STOP_SENDING: {
        const id = this.#number();
        const code = this.#clamped();
        return this.#truncatedOr(id) ?? visitor.stopSending(id, code);
      }
      case FrameType.CRYPTO:
        return this.#readCrypto(visitor);
      case FrameType.NEW_TOKEN:
        return this.#readNewToken(visitor);
      case FrameType.MAX_DATA:
      case FrameType.DATA_BLOCKED: {
        const limit = this.#clamped();
        if (this.#truncated) return this.#truncation();
        return type === FrameType.MAX_DATA ? visitor.maxData(limit) : visitor.dataBlocked(limit);
      }
      case FrameType.MAX_STREAM_DATA:
      case FrameType.STREAM_DATA_BLOCKED: {
        const id = this.#number();
        const limit = this.#clamped();
        const error = this.#truncatedOr(id);
        if (error !== undefined) return error;
        return type === FrameType.MAX_STREAM_DATA
          ? visitor.maxStreamData(id, limit)
          : visitor.streamDataBlocked(id, limit);
      }
      case FrameType.MAX_STREAMS_BIDIRECTIONAL:
      case FrameType.MAX_STREAMS_UNIDIRECTIONAL:
      case FrameType.STREAMS_BLOCKED_BIDIRECTIONAL:
      case FrameType.STREAMS_BLOCKED_UNIDIRECTIONAL:
        return this.#readStreamCount(visitor);
      case FrameType.NEW_CONNECTION_ID:
        return this.#readNewConnectionId(visitor);
      case FrameType.RETIRE_CONNECTION_ID: {
        const sequence = this.#number();
        if (this.#truncated) return this.#truncation();
        if (sequence === TOO_LARGE) {
          return this.#fault(PROTOCOL_VIOLATION, 'a connection id that was never issued');
        }
        return visitor.retireConnectionId(sequence);
      }
      case FrameType.PATH_CHALLENGE:
      case FrameType.PATH_RESPONSE: {
        const at = this.#range(PATH_DATA_SIZE);
        if (this.#truncated) return this.#truncation();
        return type === FrameType.PATH_CHALLENGE
          ? visitor.pathChallenge(this.#bytes, at)
          : visitor.pathResponse(this.#bytes, at);
      }
      case FrameType.CONNECTION_CLOSE:
      case FrameType.APPLICATION_CLOSE:
        return this.#readClose(visitor);
      case FrameType.HANDSHAKE_DONE:
        if (this.#receiver === 'server') {
          return this.#fault(PROTOCOL_VIOLATION, 'only servers send this frame');
        }
        return visitor.handshakeDone();
      case FrameType.DATAGRAM:
      case FrameType.DATAGRAM_WITH_LENGTH: {
        const size =
          type === FrameType.DATAGRAM_WITH_LENGTH ? this.#number() : this.#end - this.#at;
        const at = this.#range(size);
        if (this.#truncated) return this.#truncation();
        return visitor.datagram(this.#bytes, at, size);
      }
      default:
        return this.#unknownType();
    }
  }

  #readStream(visitor: FrameVisitor): Verdict {
    const type = this.#type;
    const id = this.#number();
    const offset = (type & HAS_OFFSET) === 0 ? 0 : this.#number();
    const size = (type & HAS_LENGTH) === 0 ? this.#end - this.#at : this.#number();
    const at = this.#range(size);
    const error = this.#truncatedOr(id);
    if (error !== undefined) return error;
    // Windows here end far below 2^53, so this is more than any allows (§19.8).
    if (offset + size > Number.MAX_SAFE_INTEGER) {
      return this.#fault(FLOW_CONTROL_ERROR, 'the offset of a stream exceeds every limit');
    }
    return visitor.stream(id, offset, this.#bytes, at, size, (type & FIN) !== 0);
  }

  #readAck(visitor: FrameVisitor): Verdict {
    const largest = this.#number();
    const delay = this.#clamped();
    const count = this.#number();
    let length = this.#number();
    if (this.#truncated) return this.#truncation();
    if (largest === TOO_LARGE) {
      return this.#fault(PROTOCOL_VIOLATION, 'an acknowledgement of a packet that was never sent');
    }
    // Each further range takes two bytes at least.
    if (count > (this.#end - this.#at) / 2) return this.#truncation();
    let smallest = largest - length;
    if (smallest < 0) return this.#negativeRange();
    let error = visitor.ackStart(largest, delay) ?? visitor.ackRange(smallest, largest);
    for (let i = 0; i < count && error === undefined; i++) {
      const gap = this.#number();
      length = this.#number();
      if (this.#truncated) return this.#truncation();
      const next = smallest - gap - 2;
      smallest = next - length;
      if (smallest < 0) return this.#negativeRange();
      error = visitor.ackRange(smallest, next);
    }
    if (error !== undefined) return error;
    if (this.#type === FrameType.ACK) return visitor.ackEnd(false, 0, 0, 0);
    const ect0 = this.#clamped();
    const ect1 = this.#clamped();
    const ce = this.#clamped();
    if (this.#truncated) return this.#truncation();
    return visitor.ackEnd(true, ect0, ect1, ce);
  }

  #readResetStream(visitor: FrameVisitor): Verdict {
    const id = this.#number();
    const code = this.#clamped();
    const finalSize = this.#number();
    const error = this.#truncatedOr(id);
    if (error !== undefined) return error;
    if (finalSize === TOO_LARGE) {
      return this.#fault(FLOW_CONTROL_ERROR, 'the final size of a stream exceeds every limit');
    }
    return visitor.resetStream(id, code, finalSize);
  }

  #readCrypto(visitor: FrameVisitor): Verdict {
    const offset = this.#number();
    const size = this.#number();
    const at = this.#range(size);
    if (this.#truncated) return this.#truncation();
    if (offset + size > Number.MAX_SAFE_INTEGER) {
      return this.#fault(
        CRYPTO_BUFFER_EXCEEDED,
        'the offset of a CRYPTO frame exceeds every limit',
      );
    }
    return visitor.crypto(offset, this.#bytes, at, size);
  }

  #readNewToken(visitor: FrameVisitor): Verdict {
    if (this.#receiver === 'server') {
      return this.#fault(PROTOCOL_VIOLATION, 'only servers send this frame');
    }
    const size = this.#number();
    const at = this.#range(size);
    if (this.#truncated) return this.#truncation();
    if (size === 0) return this.#fault(FRAME_ENCODING_ERROR, 'an empty token');
    return visitor.newToken(this.#bytes, at, size);
  }

  #readStreamCount(visitor: FrameVisitor): Verdict {
    const start = this.#at;
    const limit = this.#clamped();
    if (this.#truncated) return this.#truncation();
    if (exceedsStreamCount(this.#bytes, start)) {
      return this.#fault(FRAME_ENCODING_ERROR, 'a limit of more than 2^60 streams');
    }
    switch (this.#type) {
      case FrameType.MAX_STREAMS_BIDIRECTIONAL:
        return visitor.maxStreams(true, limit);
      case FrameType.MAX_STREAMS_UNIDIRECTIONAL:
        return visitor.maxStreams(false, limit);
      case FrameType.STREAMS_BLOCKED_BIDIRECTIONAL:
        return visitor.streamsBlocked(true, limit);
      default:
        return visitor.streamsBlocked(false, limit);
    }
  }

  #readNewConnectionId(visitor: FrameVisitor): Verdict {
    const sequence = this.#number();
    const retirePriorTo = this.#number();
    const sizeAt = this.#range(1);
    if (this.#truncated) return this.#truncation();
    const size = this.#bytes[sizeAt] as number; // within: it is no truncation
    if (size < 1 || size > MAX_CONNECTION_ID) {
      return this.#fault(FRAME_ENCODING_ERROR, 'a connection id has 1 to 20 bytes');
    }
    const idAt = this.#range(size);
    const tokenAt = this.#range(RESET_TOKEN_SIZE);
    if (this.#truncated) return this.#truncation();
    if (sequence === TOO_LARGE) {
      return this.#fault(PROTOCOL_VIOLATION, 'sequence numbers of connection ids count by one');
    }
    if (retirePriorTo > sequence) {
      return this.#fault(FRAME_ENCODING_ERROR, 'a connection id that retires itself');
    }
    return visitor.newConnectionId(sequence, retirePriorTo, this.#bytes, idAt, size, tokenAt);
  }

  #readClose(visitor: FrameVisitor): Verdict {
    const isTransport = this.#type === FrameType.CONNECTION_CLOSE;
    const code = this.#clamped();
    const frameType = isTransport ? this.#clamped() : 0;
    const size = this.#number();
    const at = this.#range(size);
    if (this.#truncated) return this.#truncation();
    return isTransport
      ? visitor.connectionClose(code, frameType, this.#bytes, at, size)
      : visitor.applicationClose(code, this.#bytes, at, size);
  }

  /** The next number, or `TOO_LARGE`; 0 when the bytes end, with `#truncated` set. */
  #number(): number {
    const at = this.#at;
    const value = readVarint(this.#bytes, at, this.#end);
    if (value === TRUNCATED) {
      this.#truncated = true;
      return 0;
    }
    this.#at = at + varintSizeAt(this.#bytes, at);
    return value;
  }

  /** The next number, at most 2^53 - 1. */
  #clamped(): number {
    return Math.min(this.#number(), Number.MAX_SAFE_INTEGER);
  }

  /** Takes `size` bytes and returns where they start. */
  #range(size: number): number {
    const at = this.#at;
    if (size > this.#end - at) this.#truncated = true;
    else this.#at = at + size;
    return at;
  }

  /** The error for bytes that ended early, or for the id of a stream that no limit allows. */
  #truncatedOr(id: number): Verdict {
    if (this.#truncated) return this.#truncation();
    if (id === TOO_LARGE) return this.#fault(STREAM_LIMIT_ERROR, 'a stream beyond every limit');
    return undefined;
  }

  #truncation(): QuicError {
    return this.#fault(FRAME_ENCODING_ERROR, 'a frame exceeds its packet');
  }

  #negativeRange(): QuicError {
    return this.#fault(FRAME_ENCODING_ERROR, 'an acknowledgement of negative packet numbers');
  }

  /** A type that is not known, or that was not encoded in as few bytes as possible (§12.4). */
  #unknownType(): QuicError {
    const type = readVarint(this.#bytes, this.#at, this.#end);
    if (type === TRUNCATED) return this.#truncation();
    this.#type = Math.min(type, Number.MAX_SAFE_INTEGER);
    if ((RULES[type] ?? 0) !== 0) {
      return this.#fault(PROTOCOL_VIOLATION, 'a frame type in more bytes than it needs');
    }
    return this.#fault(FRAME_ENCODING_ERROR, 'an unknown frame type');
  }

  #fault(code: number, reason: string): QuicError {
    return new QuicError(code, reason, this.#type);
  }
}

/**
 * Whether a number exceeds 2^60, the most streams that ids can count (§4.6). Exact: such numbers are
 * larger than those that JavaScript counts in.
 */
export function exceedsStreamCount(bytes: Uint8Array, at: number): boolean {
  if (varintSizeAt(bytes, at) < 8) return false;
  const top = (bytes[at] as number) & 0x3f; // the caller has read it
  if (top !== 0x10) return top > 0x10;
  for (let i = 1; i < 8; i++) if (bytes[at + i] !== 0) return true;
  return false;
}
