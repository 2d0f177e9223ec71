import { readUint32, writeUint32 } from '@weir/base/bytes';
import {
  readVarint,
  TRUNCATED,
  varintSize,
  varintSizeAt,
  writeVarint,
  writeVarint2,
} from './varint.ts';

/** Packet number spaces (RFC 9000 §12.3), in the order in which they come into use. */
export const Space = {
  INITIAL: 0,
  HANDSHAKE: 1,
  APPLICATION: 2,
} as const;
export type Space = (typeof Space)[keyof typeof Space];

export const SPACES: readonly Space[] = [Space.INITIAL, Space.HANDSHAKE, Space.APPLICATION];

/** The largest size of a packet number on the wire, in bytes. */
export const MAX_PACKET_NUMBER_SIZE = 4;

/** The number of values that each size distinguishes; a table, since a power would be computed for each packet. */
const WINDOWS: readonly number[] = [1, 2 ** 8, 2 ** 16, 2 ** 24, 2 ** 32];

/**
 * Returns the full packet number for one truncated to `size` bytes (RFC 9000 §17.1, §A.3).
 *
 * @param largest largest_pn: the largest number received in the space; -1 before the first.
 */
export function decodePacketNumber(largest: number, truncated: number, size: number): number {
  const expected = largest + 1;
  const window = WINDOWS[size] as number; // `size` is at most MAX_PACKET_NUMBER_SIZE
  const half = window / 2;
  let candidate = expected - (expected % window) + truncated;
  if (candidate <= expected - half) candidate += window;
  else if (candidate > expected + half && candidate >= window) candidate -= window;
  // No connection has so many packets, so the packet is not authentic.
  return Math.min(candidate, Number.MAX_SAFE_INTEGER);
}

/**
 * Returns the size in bytes from which the peer can decode a packet number (RFC 9000 §17.1, §A.2).
 *
 * @param largestAcknowledged largest_acked: the largest number that the peer has acknowledged; -1 for none.
 */
export function packetNumberSize(number: number, largestAcknowledged: number): number {
  const range = (number - largestAcknowledged) * 2;
  return range <= 0xff ? 1 : range <= 0xffff ? 2 : range <= 0xff_ffff ? 3 : 4;
}

/** Writes the low `size` bytes of a packet number. Returns the offset after them. */
export function writePacketNumber(
  out: Uint8Array,
  offset: number,
  number: number,
  size: number,
): number {
  const low = number % 2 ** 32;
  for (let i = 0; i < size; i++) out[offset + i] = low >>> (8 * (size - 1 - i));
  return offset + size;
}

/** QUIC version 1. */
export const VERSION_1 = 1;
/** The maximum size of a connection id in version 1, in bytes. */
export const MAX_CONNECTION_ID = 20;
/** Bytes of a stateless reset token, which belongs to a connection id (RFC 9000 §10.3). */
export const RESET_TOKEN_SIZE = 16;

/** Packet types (RFC 9000 §17). The first four are the values of the type bits in long headers. */
export const PacketType = {
  INITIAL: 0,
  ZERO_RTT: 1,
  HANDSHAKE: 2,
  RETRY: 3,
  ONE_RTT: 4,
  VERSION_NEGOTIATION: 5,
  /** A long header of an unsupported version, of which only the invariants of RFC 8999 were read. */
  UNKNOWN_VERSION: 6,
} as const;
export type PacketType = (typeof PacketType)[keyof typeof PacketType];

/** The reason why a packet is invalid. The packet is dropped without an error, because it is not authenticated. */
type HeaderFault =
  | 'empty'
  | 'truncated'
  | 'fixed bit is 0'
  | 'connection id too long'
  | 'length exceeds the datagram';

/** The unprotected fields of a packet. One record is reused for all packets. */
export class PacketHeader {
  type: PacketType = PacketType.ONE_RTT;
  /** The version; 0 for short headers and for version negotiation. */
  version = 0;
  /** The offset of the packet's first byte. */
  start = 0;
  destinationIdOffset = 0;
  destinationIdSize = 0;
  /** The offset of the source id; 0 in short headers. */
  sourceIdOffset = 0;
  sourceIdSize = 0;
  /** The offset of the token of an Initial or a Retry packet. */
  tokenOffset = 0;
  tokenSize = 0;
  /** The offset of the protected packet number, or of the versions in version negotiation. */
  numberOffset = 0;
  /** The offset after the packet, where the next packet of the datagram starts. */
  end = 0;
}

const LONG_HEADER = 0x80;
const FIXED_BIT = 0x40;
const KEY_PHASE = 0x04;

/** Bytes of the Length field of long headers that this endpoint writes. */
const LENGTH_SIZE = 2;
/** Bytes of the integrity tag of Retry packets (RFC 9001 §5.8). */
const RETRY_TAG_SIZE = 16;

/**
 * Reads the unprotected part of the packet at `start`.
 *
 * @param end the end of the datagram.
 * @param localIdSize bytes of the connection ids that this endpoint issues, for short headers.
 * @returns `undefined` when `header` is filled, or the reason why the packet has to be dropped.
 */
export function readPacketHeader(
  bytes: Uint8Array,
  start: number,
  end: number,
  localIdSize: number,
  header: PacketHeader,
): HeaderFault | undefined {
  if (start >= end) return 'empty';
  const first = bytes[start] as number; // below `end`
  header.start = start;
  header.end = end;
  header.version = 0;
  header.sourceIdOffset = header.sourceIdSize = 0;
  header.tokenOffset = header.tokenSize = 0;
  if ((first & LONG_HEADER) !== 0) return readLongHeader(bytes, first, start, end, header);
  if ((first & FIXED_BIT) === 0) return 'fixed bit is 0';
  header.type = PacketType.ONE_RTT;
  header.destinationIdOffset = start + 1;
  header.destinationIdSize = localIdSize;
  header.numberOffset = start + 1 + localIdSize;
  return header.numberOffset < end ? undefined : 'truncated';
}

/** Reads the invariants of all versions (RFC 8999 §5.1), then the fields of version 1 (RFC 9000 §17.2). */
function readLongHeader(
  bytes: Uint8Array,
  first: number,
  start: number,
  end: number,
  header: PacketHeader,
): HeaderFault | undefined {
  if (start + 6 > end) return 'truncated';
  header.version = readUint32(bytes, start + 1);
  let at = start + 5;
  header.destinationIdSize = bytes[at] as number;
  header.destinationIdOffset = at + 1;
  at += 1 + header.destinationIdSize;
  if (at >= end) return 'truncated';
  header.sourceIdSize = bytes[at] as number;
  header.sourceIdOffset = at + 1;
  at += 1 + header.sourceIdSize;
  if (at > end) return 'truncated';
  header.numberOffset = at;
  if (header.version !== VERSION_1) {
    header.type =
      header.version === 0 ? PacketType.VERSION_NEGOTIATION : PacketType.UNKNOWN_VERSION;
    return undefined;
  }
  if ((first & FIXED_BIT) === 0) return 'fixed bit is 0';
  if (header.destinationIdSize > MAX_CONNECTION_ID || header.sourceIdSize > MAX_CONNECTION_ID) {
    return 'connection id too long';
  }
  // Two bits, whose values are the first four packet types.
  header.type = ((first >> 4) & 0x03) as PacketType;
  if (header.type === PacketType.RETRY) {
    if (at + RETRY_TAG_SIZE > end) return 'truncated';
    header.tokenOffset = at;
    header.tokenSize = end - RETRY_TAG_SIZE - at;
    header.numberOffset = end - RETRY_TAG_SIZE;
    return undefined;
  }
  if (header.type === PacketType.INITIAL) {
    const size = readVarint(bytes, at, end);
    if (size === TRUNCATED) return 'truncated';
    header.tokenOffset = at + varintSizeAt(bytes, at);
    header.tokenSize = size;
    at = header.tokenOffset + size;
    if (at > end) return 'truncated';
  }
  const length = readVarint(bytes, at, end);
  if (length === TRUNCATED) return 'truncated';
  header.numberOffset = at + varintSizeAt(bytes, at);
  header.end = header.numberOffset + length;
  if (header.end > end) return 'length exceeds the datagram';
  return undefined;
}

/** Whether reserved bits of an unprotected first byte are set: a PROTOCOL_VIOLATION (RFC 9000 §17.2). */
export const hasReservedBits = (firstByte: number): boolean =>
  (firstByte & (firstByte & LONG_HEADER ? 0x0c : 0x18)) !== 0;

/** Returns the key phase bit of an unprotected short header. */
export const keyPhaseOf = (firstByte: number): 0 | 1 => ((firstByte & KEY_PHASE) === 0 ? 0 : 1);

/** Returns the size of the packet number in bytes, from an unprotected first byte. */
export const numberSizeOf = (firstByte: number): number => (firstByte & 0x03) + 1;

/** Returns the size in bytes of a long header up to its packet number, as written by `writeLongHeader`. */
export function longHeaderSize(
  type: typeof PacketType.INITIAL | typeof PacketType.HANDSHAKE,
  destinationIdSize: number,
  sourceIdSize: number,
  tokenSize: number,
): number {
  const token = type === PacketType.INITIAL ? varintSize(tokenSize) + tokenSize : 0;
  return 7 + destinationIdSize + sourceIdSize + token + LENGTH_SIZE;
}

/** Writes the first byte, the version and the connection ids. */
function writeInvariants(
  out: Uint8Array,
  offset: number,
  first: number,
  version: number,
  destinationId: Uint8Array,
  sourceId: Uint8Array,
): number {
  let at = offset;
  out[at++] = first;
  writeUint32(out, at, version);
  at += 4;
  out[at++] = destinationId.length;
  at = writeBytes(out, at, destinationId);
  out[at++] = sourceId.length;
  return writeBytes(out, at, sourceId);
}

function writeBytes(out: Uint8Array, at: number, bytes: Uint8Array): number {
  out.set(bytes, at);
  return at + bytes.length;
}

/**
 * Writes a long header of version 1 up to its packet number. `writeLength` fills its Length field later, the two
 * bytes before the returned offset.
 *
 * @param token only for Initial packets; empty otherwise.
 * @returns the offset of the packet number.
 */
export function writeLongHeader(
  out: Uint8Array,
  offset: number,
  type: typeof PacketType.INITIAL | typeof PacketType.HANDSHAKE,
  numberSize: number,
  destinationId: Uint8Array,
  sourceId: Uint8Array,
  token: Uint8Array,
): number {
  const first = LONG_HEADER | FIXED_BIT | (type << 4) | (numberSize - 1);
  let at = writeInvariants(out, offset, first, VERSION_1, destinationId, sourceId);
  if (type === PacketType.INITIAL) {
    at = writeVarint(out, at, token.length);
    at = writeBytes(out, at, token);
  }
  return writeVarint2(out, at, 0);
}

/**
 * Fills the Length field of a long header.
 *
 * @param end the offset after the packet, including its tag of 16 bytes.
 */
export function writeLength(out: Uint8Array, numberOffset: number, end: number): void {
  writeVarint2(out, numberOffset - LENGTH_SIZE, end - numberOffset);
}

/** Writes a short header up to its packet number. Returns the offset of the packet number. */
export function writeShortHeader(
  out: Uint8Array,
  offset: number,
  numberSize: number,
  keyPhase: 0 | 1,
  destinationId: Uint8Array,
): number {
  out[offset] = FIXED_BIT | (keyPhase === 1 ? KEY_PHASE : 0) | (numberSize - 1);
  // A loop, because `set` costs more than copying the few bytes of an id.
  const { length } = destinationId;
  for (let i = 0; i < length; i++) out[offset + 1 + i] = destinationId[i] as number;
  return offset + 1 + length;
}

/**
 * Writes a Retry packet (§17.2.5) without its integrity tag: see `writeRetryTag`.
 *
 * @param unused random values for the four unused bits.
 */
export function writeRetry(
  out: Uint8Array,
  offset: number,
  destinationId: Uint8Array,
  sourceId: Uint8Array,
  token: Uint8Array,
  unused: number,
): number {
  const first = LONG_HEADER | FIXED_BIT | (PacketType.RETRY << 4) | (unused & 0x0f);
  const at = writeInvariants(out, offset, first, VERSION_1, destinationId, sourceId);
  return writeBytes(out, at, token);
}

/**
 * Writes a version negotiation packet (§17.2.1). The ids may be up to 255 bytes (RFC 8999 §5.1).
 *
 * @param unused random values for the unused bits. The one at the position of the fixed bit is set, so that other
 *   protocols can share the port (§17.2.1).
 */
export function writeVersionNegotiation(
  out: Uint8Array,
  offset: number,
  destinationId: Uint8Array,
  sourceId: Uint8Array,
  versions: readonly number[],
  unused: number,
): number {
  const first = LONG_HEADER | FIXED_BIT | (unused & 0x3f);
  let at = writeInvariants(out, offset, first, 0, destinationId, sourceId);
  for (const version of versions) {
    writeUint32(out, at, version);
    at += 4;
  }
  return at;
}

/** Whether a version negotiation packet lists `version`. */
export function offersVersion(bytes: Uint8Array, header: PacketHeader, version: number): boolean {
  for (let at = header.numberOffset; at + 4 <= header.end; at += 4) {
    if (readUint32(bytes, at) === version) return true;
  }
  return false;
}
