/*
 * Writers return the offset behind the frame; the caller has made sure that it fits, with the size
 * functions. Numbers are integers from 0 to 2^53 - 1.
 */

export declare function writePadding(out: Uint8Array, at: number, size: number): number;
export declare function writePing(out: Uint8Array, at: number): number;

/** Received packet numbers, the newest range first; never empty. */
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

/**
 * Writes an ACK frame with as many ranges as fit, from the newest on.
 *
 * @param limit the end of the room. Returns `at` when not even the first range fits.
 * @param delay microseconds divided by 2 ^ ack_delay_exponent.
 * @param ecn left out when no mark was ever received.
 */
export declare function writeAck(
  out: Uint8Array,
  at: number,
  limit: number,
  ranges: AckRangeSource,
  delay: number,
  ecn: EcnCounts | undefined,
): number;

export declare function resetStreamSize(id: number, code: number, finalSize: number): number;
export declare function writeResetStream(
  out: Uint8Array,
  at: number,
  id: number,
  code: number,
  finalSize: number,
): number;
export declare function stopSendingSize(id: number, code: number): number;
export declare function writeStopSending(
  out: Uint8Array,
  at: number,
  id: number,
  code: number,
): number;

/** The most bytes up to `wanted` that fit into `room` together with their length field; -1 if none. */
export declare function fittingSize(room: number, wanted: number): number;

/** Bytes of a CRYPTO frame before its data. */
export declare function cryptoHeaderSize(offset: number, size: number): number;
/** Writes a CRYPTO frame up to its data, which the caller puts at the returned offset. */
export declare function writeCryptoHeader(
  out: Uint8Array,
  at: number,
  offset: number,
  size: number,
): number;

export declare function newTokenSize(tokenSize: number): number;
export declare function writeNewToken(out: Uint8Array, at: number, token: Uint8Array): number;

/** Bytes of a STREAM frame before its data; without a length, when `size` is -1. */
export declare function streamHeaderSize(id: number, offset: number, size: number): number;
/**
 * Writes a STREAM frame up to its data, which the caller puts at the returned offset.
 *
 * @param size bytes of data; -1 leaves the length out: the data then fills the rest of the packet.
 */
export declare function writeStreamHeader(
  out: Uint8Array,
  at: number,
  id: number,
  offset: number,
  size: number,
  fin: boolean,
): number;

export declare function maxDataSize(limit: number): number;
export declare function writeMaxData(out: Uint8Array, at: number, limit: number): number;
export declare function maxStreamDataSize(id: number, limit: number): number;
export declare function writeMaxStreamData(
  out: Uint8Array,
  at: number,
  id: number,
  limit: number,
): number;
export declare function maxStreamsSize(limit: number): number;
export declare function writeMaxStreams(
  out: Uint8Array,
  at: number,
  bidirectional: boolean,
  limit: number,
): number;
export declare function dataBlockedSize(limit: number): number;
export declare function writeDataBlocked(out: Uint8Array, at: number, limit: number): number;
export declare function streamDataBlockedSize(id: number, limit: number): number;
export declare function writeStreamDataBlocked(
  out: Uint8Array,
  at: number,
  id: number,
  limit: number,
): number;
export declare function streamsBlockedSize(limit: number): number;
export declare function writeStreamsBlocked(
  out: Uint8Array,
  at: number,
  bidirectional: boolean,
  limit: number,
): number;
export declare function newConnectionIdSize(
  sequence: number,
  retirePriorTo: number,
  idSize: number,
): number;
/** @param resetToken 16 bytes. */
export declare function writeNewConnectionId(
  out: Uint8Array,
  at: number,
  sequence: number,
  retirePriorTo: number,
  id: Uint8Array,
  resetToken: Uint8Array,
): number;
export declare function retireConnectionIdSize(sequence: number): number;
export declare function writeRetireConnectionId(
  out: Uint8Array,
  at: number,
  sequence: number,
): number;
/** Bytes of a PATH_CHALLENGE and of a PATH_RESPONSE frame. */
export declare const PATH_FRAME_SIZE: 9;
/** @param data 8 bytes. */
export declare function writePathChallenge(out: Uint8Array, at: number, data: Uint8Array): number;
/** @param data 8 bytes. */
export declare function writePathResponse(out: Uint8Array, at: number, data: Uint8Array): number;
export declare function connectionCloseSize(
  code: number,
  frameType: number,
  reasonSize: number,
): number;
export declare function writeConnectionClose(
  out: Uint8Array,
  at: number,
  code: number,
  frameType: number,
  reason: Uint8Array,
): number;
export declare function applicationCloseSize(code: number, reasonSize: number): number;
export declare function writeApplicationClose(
  out: Uint8Array,
  at: number,
  code: number,
  reason: Uint8Array,
): number;
export declare function writeHandshakeDone(out: Uint8Array, at: number): number;

/** Bytes of a DATAGRAM frame before its data; without a length, when `size` is -1. */
export declare function datagramHeaderSize(size: number): number;
/** Writes a DATAGRAM frame up to its data; `size` as for streams. */
export declare function writeDatagramHeader(out: Uint8Array, at: number, size: number): number;
