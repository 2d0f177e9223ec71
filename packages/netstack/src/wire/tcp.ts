import { readUint16, readUint32, writeUint16, writeUint32 } from '@weir/base/bytes';
import { isTransportSumValid, type IpPacket } from './ip-packet.ts';

/** Bits of `TcpSegment.flags` (RFC 9293 §3.1). */
export const TcpFlag = {
  FIN: 0x01,
  SYN: 0x02,
  RST: 0x04,
  PSH: 0x08,
  ACK: 0x10,
  URG: 0x20,
  ECE: 0x40,
  CWR: 0x80,
} as const;

export const TCP_HEADER_SIZE = 20;
/** The largest size of a header in bytes: the data offset has four bits. */
const MAX_TCP_HEADER_SIZE = 60;
/** The offset of the checksum in the header. */
export const TCP_CHECKSUM_OFFSET = 16;
/** The largest window scale; larger shifts are read as this one (RFC 7323 §2.3). */
const MAX_WINDOW_SCALE = 14;
/** The number of blocks in a header without other options (RFC 2018 §3); three fit beside timestamps. */
export const MAX_SACK_BLOCKS = 4;

/** The reason why a TCP segment is dropped without any response. */
export type TcpFault =
  | 'tcp truncated'
  | 'tcp data offset'
  | 'tcp checksum'
  | 'tcp flags'
  | 'tcp port zero'
  | 'tcp to group';

const NO_BYTES = new Uint8Array(0);

/**
 * A TCP header with the supported options, and the offsets of its payload. One record is reused for all received
 * segments, and one for all sent ones.
 */
export class TcpSegment {
  sourcePort = 0;
  destinationPort = 0;
  /** The sequence number, from 0 to 2^32 - 1, like all sequence numbers here. */
  sequence = 0;
  acknowledgment = 0;
  /** The flags, as bits of `TcpFlag`. */
  flags = 0;
  /** The window field as on the wire: not scaled. */
  window = 0;
  urgent = 0;
  /** The Maximum Segment Size option; 0 if absent. Only read from and written to SYNs. */
  mss = 0;
  /** The Window Scale option, at most 14; -1 if absent. Only read from and written to SYNs. */
  windowScale = -1;
  /** Whether the SACK-permitted option is present. Only read from and written to SYNs. */
  sackPermitted = false;
  /** Whether the Timestamps option is present (RFC 7323 §3). */
  hasTimestamps = false;
  timestamp = 0;
  timestampEcho = 0;
  /** Number of blocks in `sackBlocks`, at most 4; blocks for which the header has no room are not written. */
  sackCount = 0;
  /** SACK blocks: left and right edges alternately, as on the wire, not validated. */
  readonly sackBlocks = new Uint32Array(2 * MAX_SACK_BLOCKS);
  /** The buffer with the payload of a received segment. */
  bytes: Uint8Array = NO_BYTES;
  payload = 0;
  payloadEnd = 0;

  /** Resets the record to a segment without options and flags, to be written. */
  clear(): void {
    this.sequence = this.acknowledgment = this.flags = this.window = this.urgent = 0;
    this.clearOptions();
    this.bytes = NO_BYTES;
    this.payload = this.payloadEnd = 0;
  }

  clearOptions(): void {
    this.mss = 0;
    this.windowScale = -1;
    this.sackPermitted = this.hasTimestamps = false;
    this.timestamp = this.timestampEcho = this.sackCount = 0;
  }
}

const OptionKind = {
  END: 0,
  NOP: 1,
  MSS: 2,
  WINDOW_SCALE: 3,
  SACK_PERMITTED: 4,
  SACK: 5,
  TIMESTAMPS: 8,
} as const;

const MSS_SIZE = 4;
const WINDOW_SCALE_SIZE = 3;
const SACK_PERMITTED_SIZE = 2;
const TIMESTAMPS_SIZE = 10;
/** Bytes before the blocks: two NOPs for alignment, kind and length. */
const SACK_LEAD = 4;
const SACK_BLOCK_SIZE = 8;
/** NOP, NOP, kind 8, length 10: common stacks send timestamps like this in segments other than SYNs. */
const ALIGNED_TIMESTAMPS = 0x0101080a;

const { FIN, SYN, RST, ACK } = TcpFlag;
/** The valid combinations of SYN, FIN, RST and ACK (RFC 9293), as a set of bits. */
const VALID_COMBINATIONS = [SYN, SYN | ACK, RST, RST | ACK, FIN | ACK, ACK].reduce(
  (set, flags) => set | (1 << flags),
  0,
);

/**
 * Reads the TCP segment in `packet`, and fills the ports of the packet's endpoints.
 *
 * @param checksumVouched whether the device has verified the checksum, or it is partial because the segment has not
 * crossed a wire.
 * @returns `undefined` when `segment` is filled, or the reason why it has to be dropped.
 */
export function readTcpSegment(
  packet: IpPacket,
  checksumVouched: boolean,
  segment: TcpSegment,
): TcpFault | undefined {
  const { bytes, payload: at, end } = packet;
  if (at + TCP_HEADER_SIZE > end) return 'tcp truncated';
  const headerSize = ((bytes[at + 12] as number) >> 4) << 2;
  if (headerSize < TCP_HEADER_SIZE || at + headerSize > end) return 'tcp data offset';
  // RFC 1122 §4.2.3.10: segments to groups are silently discarded.
  if (packet.toGroup) return 'tcp to group';
  if (!checksumVouched && !isTransportSumValid(packet, at, end)) return 'tcp checksum';
  const flags = bytes[at + 13] as number;
  if (((VALID_COMBINATIONS >> (flags & (FIN | SYN | RST | ACK))) & 1) === 0) return 'tcp flags';
  const sourcePort = readUint16(bytes, at);
  const destinationPort = readUint16(bytes, at + 2);
  if (sourcePort === 0 || destinationPort === 0) return 'tcp port zero';
  segment.sourcePort = packet.source.port = sourcePort;
  segment.destinationPort = packet.destination.port = destinationPort;
  segment.sequence = readUint32(bytes, at + 4);
  segment.acknowledgment = readUint32(bytes, at + 8);
  segment.flags = flags;
  segment.window = readUint16(bytes, at + 14);
  segment.urgent = readUint16(bytes, at + 18);
  segment.bytes = bytes;
  segment.payload = at + headerSize;
  segment.payloadEnd = end;
  segment.clearOptions();
  const options = at + TCP_HEADER_SIZE;
  if (headerSize === 32 && readUint32(bytes, options) === ALIGNED_TIMESTAMPS) {
    readTimestamps(bytes, options + 2, segment);
  } else if (headerSize > TCP_HEADER_SIZE) {
    readOptions(bytes, options, segment.payload, segment);
  }
  return undefined;
}

/**
 * Reads the options. Unknown options, and known ones of wrong lengths, are skipped; an impossible length ends the
 * options (RFC 9293 §3.1, MUST-6 and MUST-7). At most 40 bytes.
 */
function readOptions(bytes: Uint8Array, start: number, end: number, segment: TcpSegment): void {
  const isSyn = (segment.flags & SYN) !== 0;
  let at = start;
  while (at < end) {
    const kind = bytes[at] as number;
    if (kind === OptionKind.END) return;
    if (kind === OptionKind.NOP) {
      at++;
      continue;
    }
    if (at + 2 > end) return;
    const size = bytes[at + 1] as number;
    if (size < 2 || at + size > end) return;
    if (kind === OptionKind.TIMESTAMPS) {
      if (size === TIMESTAMPS_SIZE) readTimestamps(bytes, at, segment);
    } else if (kind === OptionKind.SACK) readSackBlocks(bytes, at, size, segment);
    else if (isSyn) readSynOption(bytes, at, kind, size, segment);
    at += size;
  }
}

function readTimestamps(bytes: Uint8Array, at: number, segment: TcpSegment): void {
  segment.hasTimestamps = true;
  segment.timestamp = readUint32(bytes, at + 2);
  segment.timestampEcho = readUint32(bytes, at + 6);
}

function readSackBlocks(bytes: Uint8Array, at: number, size: number, segment: TcpSegment): void {
  const count = (size - 2) / SACK_BLOCK_SIZE;
  if (!Number.isInteger(count)) return;
  for (let edge = 0; edge < 2 * count; edge++) {
    segment.sackBlocks[edge] = readUint32(bytes, at + 2 + 4 * edge);
  }
  segment.sackCount = count;
}

function readSynOption(
  bytes: Uint8Array,
  at: number,
  kind: number,
  size: number,
  segment: TcpSegment,
): void {
  if (kind === OptionKind.MSS && size === MSS_SIZE) segment.mss = readUint16(bytes, at + 2);
  else if (kind === OptionKind.WINDOW_SCALE && size === WINDOW_SCALE_SIZE) {
    segment.windowScale = Math.min(MAX_WINDOW_SCALE, bytes[at + 2] as number);
  } else if (kind === OptionKind.SACK_PERMITTED && size === SACK_PERMITTED_SIZE) {
    segment.sackPermitted = true;
  }
}

/** Returns SEG.LEN (RFC 9293 §3.4) of a segment with `payload` bytes: SYN and FIN count one each. */
export const sequenceLength = (flags: number, payload: number): number =>
  payload + ((flags & SYN) === 0 ? 0 : 1) + ((flags & FIN) === 0 ? 0 : 1);

/** Returns the number of SACK blocks that fit: four, or three beside timestamps; at least two in a SYN. */
function writtenSackBlocks(segment: TcpSegment, used: number): number {
  const room = MAX_TCP_HEADER_SIZE - TCP_HEADER_SIZE - used - SACK_LEAD;
  return Math.min(segment.sackCount, Math.floor(room / SACK_BLOCK_SIZE));
}

/** Returns the size in bytes of the options without SACK blocks, a multiple of 4. */
function fixedOptionsSize(segment: TcpSegment): number {
  const timestamps = segment.hasTimestamps ? TIMESTAMPS_SIZE + 2 : 0;
  if ((segment.flags & SYN) === 0) return timestamps;
  return (
    timestamps +
    (segment.mss > 0 ? MSS_SIZE : 0) +
    (segment.windowScale >= 0 ? WINDOW_SCALE_SIZE + 1 : 0) +
    // SACK permitted replaces the two NOPs before the timestamps.
    (segment.sackPermitted && !segment.hasTimestamps ? SACK_PERMITTED_SIZE + 2 : 0)
  );
}

/** Returns the size in bytes of the header that `writeTcpHeader` writes for this record, options included: 20 to 60. */
export function tcpHeaderSize(segment: TcpSegment): number {
  const fixed = fixedOptionsSize(segment);
  if (segment.sackCount === 0) return TCP_HEADER_SIZE + fixed;
  return TCP_HEADER_SIZE + fixed + SACK_LEAD + writtenSackBlocks(segment, fixed) * SACK_BLOCK_SIZE;
}

/**
 * Writes the header at `at` with its options, in the order of Linux, which middleboxes support. The checksum is written
 * as 0: see `writeTransportChecksum`.
 *
 * @returns the size of the header, equal to `tcpHeaderSize`.
 */
export function writeTcpHeader(segment: TcpSegment, bytes: Uint8Array, at: number): number {
  const { flags } = segment;
  writeUint16(bytes, at, segment.sourcePort);
  writeUint16(bytes, at + 2, segment.destinationPort);
  writeUint32(bytes, at + 4, segment.sequence);
  writeUint32(bytes, at + 8, segment.acknowledgment);
  bytes[at + 13] = flags;
  writeUint16(bytes, at + 14, segment.window);
  writeUint16(bytes, at + TCP_CHECKSUM_OFFSET, 0);
  writeUint16(bytes, at + 18, segment.urgent);
  const isSyn = (flags & SYN) !== 0;
  let next = at + TCP_HEADER_SIZE;
  if (isSyn) next = writeMss(segment, bytes, next);
  if (segment.hasTimestamps) next = writeTimestamps(segment, bytes, next);
  if (isSyn) next = writeSackPermittedAndScale(segment, bytes, next);
  if (segment.sackCount > 0) next = writeSackBlocks(segment, bytes, next, at);
  bytes[at + 12] = ((next - at) >> 2) << 4;
  return next - at;
}

function writeMss({ mss }: TcpSegment, bytes: Uint8Array, at: number): number {
  if (mss === 0) return at;
  bytes[at] = OptionKind.MSS;
  bytes[at + 1] = MSS_SIZE;
  writeUint16(bytes, at + 2, mss);
  return at + MSS_SIZE;
}

/** Writes the timestamps, in a SYN with SACK permitted, which replaces the two NOPs. */
function writeTimestamps(segment: TcpSegment, bytes: Uint8Array, at: number): number {
  if (segment.sackPermitted && (segment.flags & SYN) !== 0) {
    bytes[at] = OptionKind.SACK_PERMITTED;
    bytes[at + 1] = SACK_PERMITTED_SIZE;
    bytes[at + 2] = OptionKind.TIMESTAMPS;
    bytes[at + 3] = TIMESTAMPS_SIZE;
  } else writeUint32(bytes, at, ALIGNED_TIMESTAMPS);
  writeUint32(bytes, at + 4, segment.timestamp);
  writeUint32(bytes, at + 8, segment.timestampEcho);
  return at + TIMESTAMPS_SIZE + 2;
}

/** Writes SACK permitted, unless it was written with the timestamps, and the window scale. */
function writeSackPermittedAndScale(segment: TcpSegment, bytes: Uint8Array, start: number): number {
  let at = start;
  if (segment.sackPermitted && !segment.hasTimestamps) {
    bytes[at] = bytes[at + 1] = OptionKind.NOP;
    bytes[at + 2] = OptionKind.SACK_PERMITTED;
    bytes[at + 3] = SACK_PERMITTED_SIZE;
    at += SACK_PERMITTED_SIZE + 2;
  }
  if (segment.windowScale >= 0) {
    bytes[at] = OptionKind.NOP;
    bytes[at + 1] = OptionKind.WINDOW_SCALE;
    bytes[at + 2] = WINDOW_SCALE_SIZE;
    bytes[at + 3] = segment.windowScale;
    at += WINDOW_SCALE_SIZE + 1;
  }
  return at;
}

/** Writes the SACK blocks of a record that has some. */
function writeSackBlocks(
  segment: TcpSegment,
  bytes: Uint8Array,
  at: number,
  header: number,
): number {
  const blocks = writtenSackBlocks(segment, at - header - TCP_HEADER_SIZE);
  bytes[at] = bytes[at + 1] = OptionKind.NOP;
  bytes[at + 2] = OptionKind.SACK;
  bytes[at + 3] = 2 + blocks * SACK_BLOCK_SIZE;
  let next = at + SACK_LEAD;
  for (let edge = 0; edge < 2 * blocks; edge++, next += 4) {
    writeUint32(bytes, next, segment.sackBlocks[edge] as number);
  }
  return next;
}
