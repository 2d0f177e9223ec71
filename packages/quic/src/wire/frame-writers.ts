import { FrameType } from './frame-types.ts';
import { varintSize, writeVarint } from './varint.ts';

/*
 * Writers return the offset after the frame. The caller must ensure that the frame fits, by the size functions. Numbers
 * are integers from 0 to 2^53 - 1.
 */

/** Writes `size` PADDING frames of one byte each. */
export function writePadding(out: Uint8Array, at: number, size: number): number {
  out.fill(0, at, at + size);
  return at + size;
}

export function writePing(out: Uint8Array, at: number): number {
  out[at] = FrameType.PING;
  return at + 1;
}

/** Returns the size of a frame that `writeNumber` writes. */
export const numberSize = (value: number): number => 1 + varintSize(value);

/** Writes a frame of a type and a number, such as MAX_DATA. Types are below 64, and so take one byte. */
export function writeNumber(out: Uint8Array, at: number, type: number, value: number): number {
  out[at] = type;
  return writeVarint(out, at + 1, value);
}

/** Returns the size of a frame that `writeTwoNumbers` writes. */
export const twoNumbersSize = (value: number, second: number): number =>
  1 + varintSize(value) + varintSize(second);

/**
 * Writes a frame of a type and two numbers, such as MAX_STREAM_DATA; or a CRYPTO frame up to its data, which the caller
 * writes at the returned offset.
 */
export function writeTwoNumbers(
  out: Uint8Array,
  at: number,
  type: number,
  value: number,
  second: number,
): number {
  return writeVarint(out, writeNumber(out, at, type, value), second);
}

/** Ranges of received packet numbers in descending order; never empty. */
export interface AckRangeSource {
  readonly length: number;
  smallest(index: number): number;
  largest(index: number): number;
}

/** Counts of received packets by ECN mark (RFC 9000 §19.3.2). */
export interface EcnCounts {
  readonly ect0: number;
  readonly ect1: number;
  readonly ce: number;
}

/** Ranges after the first one; below 64, so that their count takes one byte. */
const MAX_ACK_RANGES = 63;

/**
 * Writes an ACK frame with as many ranges as fit, at most 64, in descending order.
 *
 * @param limit the end of the room. Returns `at` if not even the first range fits.
 * @param delay microseconds divided by 2 ^ ack_delay_exponent.
 * @param ecn `undefined` if no ECN mark was ever received.
 */
export function writeAck(
  out: Uint8Array,
  at: number,
  limit: number,
  ranges: AckRangeSource,
  delay: number,
  ecn: EcnCounts | undefined,
): number {
  const largest = ranges.largest(0);
  const first = largest - ranges.smallest(0);
  const ecnSize = ecn ? varintSize(ecn.ect0) + varintSize(ecn.ect1) + varintSize(ecn.ce) : 0;
  const last = limit - ecnSize;
  const size = 2 + varintSize(largest) + varintSize(delay) + varintSize(first);
  if (at + size > last) return at;
  out[at] = ecn ? FrameType.ACK_ECN : FrameType.ACK;
  const countAt = writeVarint(out, writeVarint(out, at + 1, largest), delay);
  let next = writeVarint(out, countAt + 1, first);
  let count = 0;
  const most = Math.min(MAX_ACK_RANGES, ranges.length - 1);
  while (count < most) {
    const gap = ranges.smallest(count) - ranges.largest(count + 1) - 2;
    const length = ranges.largest(count + 1) - ranges.smallest(count + 1);
    if (next + varintSize(gap) + varintSize(length) > last) break;
    next = writeVarint(out, writeVarint(out, next, gap), length);
    count++;
  }
  out[countAt] = count;
  if (!ecn) return next;
  return writeVarint(out, writeVarint(out, writeVarint(out, next, ecn.ect0), ecn.ect1), ecn.ce);
}

export const resetStreamSize = (id: number, code: number, finalSize: number): number =>
  1 + varintSize(id) + varintSize(code) + varintSize(finalSize);

export function writeResetStream(
  out: Uint8Array,
  at: number,
  id: number,
  code: number,
  finalSize: number,
): number {
  return writeVarint(out, writeTwoNumbers(out, at, FrameType.RESET_STREAM, id, code), finalSize);
}

/**
 * Returns the number of bytes, at most `wanted`, that fit into `room` together with a length field before them; -1 if
 * not even the length field fits.
 */
export function fittingSize(room: number, wanted: number): number {
  if (room < 1) return -1;
  const size = Math.min(wanted, room - 1);
  if (varintSize(size) === 1) return size;
  if (room - 2 < 0x4000) return Math.min(wanted, Math.max(room - 2, 0x3f));
  return Math.min(wanted, Math.max(room - 4, 0x3fff));
}

export const newTokenSize = (tokenSize: number): number => 1 + varintSize(tokenSize) + tokenSize;

export function writeNewToken(out: Uint8Array, at: number, token: Uint8Array): number {
  return writeBytes(out, writeNumber(out, at, FrameType.NEW_TOKEN, token.length), token);
}

/** Bits of the type of STREAM frames (§19.8). */
const FIN = 0x01;
const HAS_LENGTH = 0x02;
const HAS_OFFSET = 0x04;

/** Returns the size in bytes of the header of a STREAM frame; without a length field if `size` is -1. */
export const streamHeaderSize = (id: number, offset: number, size: number): number =>
  1 + varintSize(id) + (offset > 0 ? varintSize(offset) : 0) + (size >= 0 ? varintSize(size) : 0);

/**
 * Writes a STREAM frame up to its data, which the caller writes at the returned offset.
 *
 * @param size bytes of data; -1 omits the length field: the data then extends to the end of the packet.
 */
export function writeStreamHeader(
  out: Uint8Array,
  at: number,
  id: number,
  offset: number,
  size: number,
  fin: boolean,
): number {
  const type =
    FrameType.STREAM |
    (fin ? FIN : 0) |
    (size >= 0 ? HAS_LENGTH : 0) |
    (offset > 0 ? HAS_OFFSET : 0);
  let next = writeNumber(out, at, type, id);
  if (offset > 0) next = writeVarint(out, next, offset);
  return size >= 0 ? writeVarint(out, next, size) : next;
}

export const newConnectionIdSize = (
  sequence: number,
  retirePriorTo: number,
  idSize: number,
): number => 2 + varintSize(sequence) + varintSize(retirePriorTo) + idSize + 16;

/**
 * Writes NEW_CONNECTION_ID.
 * @param resetToken 16 bytes.
 */
export function writeNewConnectionId(
  out: Uint8Array,
  at: number,
  sequence: number,
  retirePriorTo: number,
  id: Uint8Array,
  resetToken: Uint8Array,
): number {
  const sizeAt = writeTwoNumbers(out, at, FrameType.NEW_CONNECTION_ID, sequence, retirePriorTo);
  out[sizeAt] = id.length;
  return writeBytes(out, writeBytes(out, sizeAt + 1, id), resetToken);
}

/** Size in bytes of a PATH_CHALLENGE and of a PATH_RESPONSE frame. */
export const PATH_FRAME_SIZE = 9;

/**
 * Writes PATH_CHALLENGE.
 * @param data 8 bytes.
 */
export function writePathChallenge(out: Uint8Array, at: number, data: Uint8Array): number {
  out[at] = FrameType.PATH_CHALLENGE;
  return writeBytes(out, at + 1, data);
}

/**
 * Writes PATH_RESPONSE.
 * @param data 8 bytes.
 */
export function writePathResponse(out: Uint8Array, at: number, data: Uint8Array): number {
  out[at] = FrameType.PATH_RESPONSE;
  return writeBytes(out, at + 1, data);
}

export const connectionCloseSize = (code: number, frameType: number, reasonSize: number): number =>
  1 + varintSize(code) + varintSize(frameType) + varintSize(reasonSize) + reasonSize;

/** @param frameType the type of the frame that caused the error; 0 if none did, or if unknown. */
export function writeConnectionClose(
  out: Uint8Array,
  at: number,
  code: number,
  frameType: number,
  reason: Uint8Array,
): number {
  const next = writeTwoNumbers(out, at, FrameType.CONNECTION_CLOSE, code, frameType);
  return writeBytes(out, writeVarint(out, next, reason.length), reason);
}

export const applicationCloseSize = (code: number, reasonSize: number): number =>
  1 + varintSize(code) + varintSize(reasonSize) + reasonSize;

export function writeApplicationClose(
  out: Uint8Array,
  at: number,
  code: number,
  reason: Uint8Array,
): number {
  const next = writeTwoNumbers(out, at, FrameType.APPLICATION_CLOSE, code, reason.length);
  return writeBytes(out, next, reason);
}

export function writeHandshakeDone(out: Uint8Array, at: number): number {
  out[at] = FrameType.HANDSHAKE_DONE;
  return at + 1;
}

/** Returns the size in bytes of the header of a DATAGRAM frame; without a length field if `size` is -1. */
export const datagramHeaderSize = (size: number): number => 1 + (size >= 0 ? varintSize(size) : 0);

/** Writes a DATAGRAM frame (RFC 9221 §4) up to its data; a `size` of -1 omits the length field. */
export function writeDatagramHeader(out: Uint8Array, at: number, size: number): number {
  if (size >= 0) return writeNumber(out, at, FrameType.DATAGRAM_WITH_LENGTH, size);
  out[at] = FrameType.DATAGRAM;
  return at + 1;
}

function writeBytes(out: Uint8Array, at: number, bytes: Uint8Array): number {
  out.set(bytes, at);
  return at + bytes.length;
}
