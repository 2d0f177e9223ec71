import { readVarint, TRUNCATED, varintSizeAt, TOO_LARGE, exceedsStreamCount } from './varint.ts';
import { QuicError, TransportErrorCode } from '../errors.ts';
import { ACK_RANGES_A_FRAME, ORDINARY_ACK_RANGES } from '../limits.ts';
import {
  FrameType,
  NOT_ELICITING,
  PROBING,
  rulesOf,
  type FramesPacketType,
  type FrameVisitor,
  type FrameError,
} from './frame-types.ts';
import { MAX_CONNECTION_ID, RESET_TOKEN_SIZE } from './packet-header.ts';

/**
 * Reads the fields of frames in sequence. If the bytes end too early, a method returns 0 or the current offset,
 * and sets `isTruncated`.
 */
class FieldReader {
  bytes: Uint8Array = new Uint8Array(0);
  at = 0;
  end = 0;
  isTruncated = false;

  begin(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
    this.isTruncated = false;
  }

  /** Returns the next number, or `TOO_LARGE`. */
  number(): number {
    const { bytes, at } = this;
    const value = readVarint(bytes, at, this.end);
    if (value === TRUNCATED) {
      this.isTruncated = true;
      return 0;
    }
    this.at = at + varintSizeAt(bytes, at);
    return value;
  }

  /** Returns the next number, at most 2^53 - 1. */
  clamped(): number {
    return Math.min(this.number(), Number.MAX_SAFE_INTEGER);
  }

  /** Skips `size` bytes and returns their offset. */
  range(size: number): number {
    const { at } = this;
    if (size > this.end - at) this.isTruncated = true;
    else this.at = at + size;
    return at;
  }
}

const {
  FLOW_CONTROL_ERROR,
  STREAM_LIMIT_ERROR,
  FRAME_ENCODING_ERROR,
  PROTOCOL_VIOLATION,
  CRYPTO_BUFFER_EXCEEDED,
} = TransportErrorCode;

const PATH_DATA_SIZE = 8;

/** Bits of the type of STREAM frames (§19.8). */
const FIN = 0x01;
const HAS_LENGTH = 0x02;
const HAS_OFFSET = 0x04;

/**
 * Reads the frames of packets into a visitor, without allocation. Work, and the number of ranges of an ACK, are
 * linear in the size of the packet.
 *
 * The private methods read one frame, after its type. Truncation is checked once per frame, before any of its
 * numbers is used.
 */
export class FrameReader {
  readonly #receiver: 'client' | 'server';
  readonly #fields = new FieldReader();
  #type = 0;
  /** Whether the last packet is ack-eliciting (RFC 9002 §2). */
  ackEliciting = false;
  /** Whether the last packet has only probing frames (RFC 9000 §9.1). */
  probing = false;
  /** The number of frames in the last packet. Ranges of an ACK count too: see `ORDINARY_ACK_RANGES`. */
  frames = 0;

  /** @param receiver this side: only clients may receive NEW_TOKEN and HANDSHAKE_DONE. */
  constructor(receiver: 'client' | 'server') {
    this.#receiver = receiver;
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
    const fields = this.#fields;
    fields.begin(bytes, start, end);
    this.ackEliciting = false;
    this.probing = true;
    this.frames = 0;
    if (start >= end) return new QuicError(PROTOCOL_VIOLATION, 'a packet without frames');
    const allowed = 1 << packet;
    while (fields.at < end) {
      const type = bytes[fields.at] as number; // below `end`
      const rules = rulesOf(type);
      this.#type = type;
      if (rules === 0) return this.#unknownType();
      if ((rules & allowed) === 0) {
        return this.#fault(PROTOCOL_VIOLATION, 'a frame that this type of packet must not hold');
      }
      if ((rules & NOT_ELICITING) === 0) this.ackEliciting = true;
      if ((rules & PROBING) === 0) this.probing = false;
      fields.at++;
      this.frames++;
      const error = this.#readFrame(visitor);
      if (error !== undefined) return error;
    }
    return undefined;
  }

  #readFrame(visitor: FrameVisitor): FrameError {
    const fields = this.#fields;
    const type = this.#type;
    if ((type & 0xf8) === FrameType.STREAM) return this.#readStream(visitor);
    switch (type) {
      case FrameType.PADDING:
        while (fields.at < fields.end && fields.bytes[fields.at] === 0) fields.at++;
        return undefined;
      case FrameType.PING:
        return visitor.ping();
      case FrameType.ACK:
      case FrameType.ACK_ECN:
        return this.#readAck(visitor);
      case FrameType.RESET_STREAM:
        return this.#readResetStream(visitor);
      case FrameType.STOP_SENDING: {
        const id = fields.number();
        const code = fields.clamped();
        return this.#truncatedOr(id) ?? visitor.streams.stopSending(id, code);
      }
      case FrameType.CRYPTO:
        return this.#readCrypto(visitor);
      case FrameType.NEW_TOKEN:
        return this.#readNewToken(visitor);
      case FrameType.MAX_DATA:
      case FrameType.DATA_BLOCKED: {
        const limit = fields.clamped();
        if (fields.isTruncated) return this.#truncation();
        return type === FrameType.MAX_DATA
          ? visitor.streams.maxData(limit)
          : visitor.streams.dataBlocked(limit);
      }
      case FrameType.MAX_STREAM_DATA:
      case FrameType.STREAM_DATA_BLOCKED: {
        const id = fields.number();
        const limit = fields.clamped();
        const error = this.#truncatedOr(id);
        if (error !== undefined) return error;
        return type === FrameType.MAX_STREAM_DATA
          ? visitor.streams.maxStreamData(id, limit)
          : visitor.streams.streamDataBlocked(id, limit);
      }
      case FrameType.MAX_STREAMS_BIDIRECTIONAL:
      case FrameType.MAX_STREAMS_UNIDIRECTIONAL:
      case FrameType.STREAMS_BLOCKED_BIDIRECTIONAL:
      case FrameType.STREAMS_BLOCKED_UNIDIRECTIONAL:
        return this.#readStreamCount(visitor);
      case FrameType.NEW_CONNECTION_ID:
        return this.#readNewConnectionId(visitor);
      case FrameType.RETIRE_CONNECTION_ID: {
        const sequence = fields.number();
        if (fields.isTruncated) return this.#truncation();
        if (sequence === TOO_LARGE) {
          return this.#fault(PROTOCOL_VIOLATION, 'a connection id that was never issued');
        }
        return visitor.retireConnectionId(sequence);
      }
      case FrameType.PATH_CHALLENGE:
      case FrameType.PATH_RESPONSE: {
        const at = fields.range(PATH_DATA_SIZE);
        if (fields.isTruncated) return this.#truncation();
        return type === FrameType.PATH_CHALLENGE
          ? visitor.pathChallenge(fields.bytes, at)
          : visitor.pathResponse(fields.bytes, at);
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
          type === FrameType.DATAGRAM_WITH_LENGTH ? fields.number() : fields.end - fields.at;
        const at = fields.range(size);
        if (fields.isTruncated) return this.#truncation();
        return visitor.datagram(fields.bytes, at, size);
      }
      default:
        return this.#unknownType();
    }
  }

  #readStream(visitor: FrameVisitor): FrameError {
    const fields = this.#fields;
    const type = this.#type;
    const id = fields.number();
    const offset = (type & HAS_OFFSET) === 0 ? 0 : fields.number();
    const size = (type & HAS_LENGTH) === 0 ? fields.end - fields.at : fields.number();
    const at = fields.range(size);
    const error = this.#truncatedOr(id);
    if (error !== undefined) return error;
    // Flow control of this side never allows 2^53 (§19.8).
    if (offset + size > Number.MAX_SAFE_INTEGER) {
      return this.#fault(FLOW_CONTROL_ERROR, 'the offset of a stream exceeds every limit');
    }
    return visitor.streams.stream(id, offset, fields.bytes, at, size, (type & FIN) !== 0);
  }

  #readAck(visitor: FrameVisitor): FrameError {
    const fields = this.#fields;
    const largest = fields.number();
    const delay = fields.clamped();
    const count = fields.number();
    let length = fields.number();
    if (fields.isTruncated) return this.#truncation();
    if (largest === TOO_LARGE) {
      return this.#fault(PROTOCOL_VIOLATION, 'an acknowledgement of a packet that was never sent');
    }
    // Each further range takes at least two bytes.
    if (count > (fields.end - fields.at) / 2) return this.#truncation();
    const ordinary = Math.min(count, ORDINARY_ACK_RANGES);
    this.frames += Math.floor(ordinary / ACK_RANGES_A_FRAME) + count - ordinary;
    let smallest = largest - length;
    if (smallest < 0) return this.#negativeRange();
    let error = visitor.ackStart(largest, delay) ?? visitor.ackRange(smallest, largest);
    for (let i = 0; i < count && error === undefined; i++) {
      const gap = fields.number();
      length = fields.number();
      if (fields.isTruncated) return this.#truncation();
      const next = smallest - gap - 2;
      smallest = next - length;
      if (smallest < 0) return this.#negativeRange();
      error = visitor.ackRange(smallest, next);
    }
    if (error !== undefined) return error;
    if (this.#type === FrameType.ACK) return visitor.ackEnd(false, 0, 0, 0);
    const ect0 = fields.clamped();
    const ect1 = fields.clamped();
    const ce = fields.clamped();
    if (fields.isTruncated) return this.#truncation();
    return visitor.ackEnd(true, ect0, ect1, ce);
  }

  #readResetStream(visitor: FrameVisitor): FrameError {
    const fields = this.#fields;
    const id = fields.number();
    const code = fields.clamped();
    const finalSize = fields.number();
    const error = this.#truncatedOr(id);
    if (error !== undefined) return error;
    if (finalSize === TOO_LARGE) {
      return this.#fault(FLOW_CONTROL_ERROR, 'the final size of a stream exceeds every limit');
    }
    return visitor.streams.resetStream(id, code, finalSize);
  }

  #readCrypto(visitor: FrameVisitor): FrameError {
    const fields = this.#fields;
    const offset = fields.number();
    const size = fields.number();
    const at = fields.range(size);
    if (fields.isTruncated) return this.#truncation();
    if (offset + size > Number.MAX_SAFE_INTEGER) {
      return this.#fault(
        CRYPTO_BUFFER_EXCEEDED,
        'the offset of a CRYPTO frame exceeds every limit',
      );
    }
    return visitor.crypto(offset, fields.bytes, at, size);
  }

  #readNewToken(visitor: FrameVisitor): FrameError {
    const fields = this.#fields;
    if (this.#receiver === 'server') {
      return this.#fault(PROTOCOL_VIOLATION, 'only servers send this frame');
    }
    const size = fields.number();
    const at = fields.range(size);
    if (fields.isTruncated) return this.#truncation();
    if (size === 0) return this.#fault(FRAME_ENCODING_ERROR, 'an empty token');
    return visitor.newToken(fields.bytes, at, size);
  }

  #readStreamCount(visitor: FrameVisitor): FrameError {
    const fields = this.#fields;
    const start = fields.at;
    const limit = fields.clamped();
    if (fields.isTruncated) return this.#truncation();
    if (exceedsStreamCount(fields.bytes, start)) {
      return this.#fault(FRAME_ENCODING_ERROR, 'a limit of more than 2^60 streams');
    }
    switch (this.#type) {
      case FrameType.MAX_STREAMS_BIDIRECTIONAL:
        return visitor.streams.maxStreams(true, limit);
      case FrameType.MAX_STREAMS_UNIDIRECTIONAL:
        return visitor.streams.maxStreams(false, limit);
      case FrameType.STREAMS_BLOCKED_BIDIRECTIONAL:
        return visitor.streams.streamsBlocked(true, limit);
      default:
        return visitor.streams.streamsBlocked(false, limit);
    }
  }

  #readNewConnectionId(visitor: FrameVisitor): FrameError {
    const fields = this.#fields;
    const sequence = fields.number();
    const retirePriorTo = fields.number();
    const sizeAt = fields.range(1);
    if (fields.isTruncated) return this.#truncation();
    const size = fields.bytes[sizeAt] as number; // not truncated
    if (size < 1 || size > MAX_CONNECTION_ID) {
      return this.#fault(FRAME_ENCODING_ERROR, 'a connection id has 1 to 20 bytes');
    }
    const idAt = fields.range(size);
    const tokenAt = fields.range(RESET_TOKEN_SIZE);
    if (fields.isTruncated) return this.#truncation();
    if (sequence === TOO_LARGE) {
      return this.#fault(PROTOCOL_VIOLATION, 'sequence numbers of connection ids count by one');
    }
    if (retirePriorTo > sequence) {
      return this.#fault(FRAME_ENCODING_ERROR, 'a connection id that retires itself');
    }
    return visitor.newConnectionId(sequence, retirePriorTo, fields.bytes, idAt, size, tokenAt);
  }

  #readClose(visitor: FrameVisitor): FrameError {
    const fields = this.#fields;
    const isTransport = this.#type === FrameType.CONNECTION_CLOSE;
    const code = fields.clamped();
    const frameType = isTransport ? fields.clamped() : 0;
    const size = fields.number();
    const at = fields.range(size);
    if (fields.isTruncated) return this.#truncation();
    return isTransport
      ? visitor.connectionClose(code, frameType, fields.bytes, at, size)
      : visitor.applicationClose(code, fields.bytes, at, size);
  }

  /** Returns the error of a truncated frame, or of a stream id that no limit allows. */
  #truncatedOr(id: number): FrameError {
    if (this.#fields.isTruncated) return this.#truncation();
    if (id === TOO_LARGE) return this.#fault(STREAM_LIMIT_ERROR, 'a stream beyond every limit');
    return undefined;
  }

  #truncation(): QuicError {
    return this.#fault(FRAME_ENCODING_ERROR, 'a frame exceeds its packet');
  }

  #negativeRange(): QuicError {
    return this.#fault(FRAME_ENCODING_ERROR, 'an acknowledgement of negative packet numbers');
  }

  /** Returns the error for an unknown type, or for one that is not encoded in the fewest bytes (§12.4). */
  #unknownType(): QuicError {
    const fields = this.#fields;
    const type = readVarint(fields.bytes, fields.at, fields.end);
    if (type === TRUNCATED) return this.#truncation();
    this.#type = Math.min(type, Number.MAX_SAFE_INTEGER);
    if (rulesOf(type) !== 0) {
      return this.#fault(PROTOCOL_VIOLATION, 'a frame type in more bytes than it needs');
    }
    return this.#fault(FRAME_ENCODING_ERROR, 'an unknown frame type');
  }

  #fault(code: number, reason: string): QuicError {
    return new QuicError(code, reason, this.#type);
  }
}
