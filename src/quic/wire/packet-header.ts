/** QUIC version 1. */
export const VERSION_1 = 1;
/** The bytes of the longest connection id in version 1. */
export const MAX_CONNECTION_ID = 20;

/** Packet types (RFC 9000 §17); the first four are the values of the long header's type bits. */
export const PacketType = {
  INITIAL: 0,
  ZERO_RTT: 1,
  HANDSHAKE: 2,
  RETRY: 3,
  ONE_RTT: 4,
  VERSION_NEGOTIATION: 5,
  /** A long header of a version that is not known here: only what RFC 8999 fixes was read. */
  UNKNOWN_VERSION: 6,
} as const;
export type PacketType = (typeof PacketType)[keyof typeof PacketType];

/** Why bytes are no packet. Such a packet is dropped: it is not authenticated. */
export type HeaderFault =
  | 'empty'
  | 'truncated'
  | 'fixed bit is 0'
  | 'connection id too long'
  | 'length exceeds the datagram';

/** What is known of a packet before its protection is removed. One record is reused for all packets. */
export class PacketHeader {
  type: PacketType = PacketType.ONE_RTT;
  /** 0 for short headers and for version negotiation. */
  version = 0;
  /** The offset of the first byte. */
  start = 0;
  destinationIdOffset = 0;
  destinationIdSize = 0;
  /** Not in short headers. */
  sourceIdOffset = 0;
  sourceIdSize = 0;
  /** The token of an Initial or a Retry packet. */
  tokenOffset = 0;
  tokenSize = 0;
  /** Where the protected packet number starts; for version negotiation, where the versions start. */
  numberOffset = 0;
  /** Behind the packet; further packets of the datagram start here. */
  end = 0;
}

/**
 * Reads the unprotected part of the packet at `start`.
 *
 * @param end the end of the datagram.
 * @param localIdSize bytes of the connection ids that this endpoint issues, for short headers.
 * @returns undefined when `header` is filled, or why the packet has to be dropped.
 */
export declare function readPacketHeader(
  bytes: Uint8Array,
  start: number,
  end: number,
  localIdSize: number,
  header: PacketHeader,
): HeaderFault | undefined;

/** Whether the reserved bits of an unprotected first byte are set: a PROTOCOL_VIOLATION (§17.2). */
export declare function hasReservedBits(firstByte: number): boolean;
/** The key phase bit of an unprotected short header. */
export declare function keyPhaseOf(firstByte: number): 0 | 1;

/** Bytes of a long header up to its packet number, with a Length field of 2 bytes. */
export declare function longHeaderSize(
  type: PacketType,
  destinationIdSize: number,
  sourceIdSize: number,
  tokenSize: number,
): number;

/**
 * Writes a long header of version 1 up to its packet number. Its Length field, the two bytes before
 * the returned offset, is filled by `writeLength`.
 *
 * @param token only for Initial packets; empty otherwise.
 * @returns the offset of the packet number.
 */
export declare function writeLongHeader(
  out: Uint8Array,
  offset: number,
  type: typeof PacketType.INITIAL | typeof PacketType.HANDSHAKE,
  numberSize: number,
  destinationId: Uint8Array,
  sourceId: Uint8Array,
  token: Uint8Array,
): number;

/**
 * Fills the Length field of a long header.
 *
 * @param end behind the packet, with its tag of 16 bytes.
 */
export declare function writeLength(out: Uint8Array, numberOffset: number, end: number): void;

/** Writes a short header up to its packet number. Returns the offset of the packet number. */
export declare function writeShortHeader(
  out: Uint8Array,
  offset: number,
  numberSize: number,
  keyPhase: 0 | 1,
  destinationId: Uint8Array,
): number;

/**
 * Writes a Retry packet (§17.2.5) without its integrity tag: see protection/retry.ts.
 *
 * @param unused random bits for the four that have no meaning.
 */
export declare function writeRetry(
  out: Uint8Array,
  offset: number,
  destinationId: Uint8Array,
  sourceId: Uint8Array,
  token: Uint8Array,
  unused: number,
): number;

/**
 * Writes a version negotiation packet (§17.2.1). The ids may be up to 255 bytes (RFC 8999 §5.1).
 *
 * @param unused random bits for the seven that have no meaning.
 */
export declare function writeVersionNegotiation(
  out: Uint8Array,
  offset: number,
  destinationId: Uint8Array,
  sourceId: Uint8Array,
  versions: readonly number[],
  unused: number,
): number;

/** Whether a version negotiation packet lists `version`. */
export declare function offersVersion(
  bytes: Uint8Array,
  header: PacketHeader,
  version: number,
): boolean;
