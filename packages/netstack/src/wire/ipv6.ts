import { MAPPED, type IpEndpoint, type MutableIpEndpoint } from '@weir/base/ip';
import { readInt32, readUint16, readUint32, writeUint16, writeUint32 } from '@weir/base/bytes';
import type { IpPacket } from './ip-packet.ts';

export const IPV6_HEADER_SIZE = 40;
export const FRAGMENT_HEADER_SIZE = 8;
/** The largest value of the length field; jumbograms (RFC 2675) are rejected. */
export const MAX_IPV6_PAYLOAD = 0xffff;
/** The minimum MTU of a link (RFC 8200 §5). */
export const MIN_IPV6_MTU = 1280;

/**
 * Extension headers that are read; a packet with more is dropped. Each extension header of RFC 8200 §4.1 occurs once,
 * destination options twice.
 */
const MAX_EXTENSION_HEADERS = 8;
/** Options other than padding in all headers of a packet (RFC 8504 §5.3 suggests 8). */
const MAX_UNKNOWN_OPTIONS = 8;

/** The reason why an IPv6 packet is dropped. */
export type IPv6Fault =
  | 'ipv6 truncated'
  | 'ipv6 payload length'
  | 'ipv6 hop limit zero'
  | 'ipv6 source'
  | 'ipv6 destination'
  | 'ipv6 source is destination'
  | 'ipv6 extension header'
  | 'ipv6 too many extension headers'
  | 'ipv6 option'
  | 'ipv6 routing header'
  | 'ipv6 fragment';

export const NextHeader = {
  HOP_BY_HOP: 0,
  ROUTING: 43,
  FRAGMENT: 44,
  NONE: 59,
  DESTINATION_OPTIONS: 60,
} as const;

/**
 * Reads and validates an IPv6 packet (RFC 8200) with its extension headers. Routing headers with segments left are
 * rejected, and those of type 0 always (RFC 5095); so are unknown options that must not be skipped, without an
 * ICMP error.
 *
 * @returns `undefined` when `packet` is filled, or the reason why the packet has to be dropped.
 */
export function readIPv6(
  bytes: Uint8Array,
  start: number,
  end: number,
  packet: IpPacket,
): IPv6Fault | undefined {
  if (start + IPV6_HEADER_SIZE > end) return 'ipv6 truncated';
  const packetEnd = start + IPV6_HEADER_SIZE + readUint16(bytes, start + 4);
  if (packetEnd > end) return 'ipv6 payload length';
  const hopLimit = bytes[start + 7] as number;
  if (hopLimit === 0) return 'ipv6 hop limit zero';
  const { source, destination } = packet;
  fillIPv6Endpoint(source, bytes, start + 8);
  fillIPv6Endpoint(destination, bytes, start + 24);
  if (isLocalOnly(source) || isGroup(source)) return 'ipv6 source';
  if (isLocalOnly(destination)) return 'ipv6 destination';
  if (
    source.d === destination.d &&
    source.c === destination.c &&
    source.b === destination.b &&
    source.a === destination.a
  ) {
    return 'ipv6 source is destination';
  }
  packet.bytes = bytes;
  packet.start = start;
  packet.end = packetEnd;
  packet.version = 6;
  packet.protocol = bytes[start + 6] as number;
  packet.protocolField = start + 6;
  packet.payload = start + IPV6_HEADER_SIZE;
  packet.hopLimit = hopLimit;
  packet.trafficClass =
    (((bytes[start] as number) & 0x0f) << 4) | ((bytes[start + 1] as number) >> 4);
  packet.addresses = start + 8;
  packet.addressSize = 16;
  packet.toGroup = isGroup(destination);
  packet.dontFragment = true;
  packet.isFragment = packet.moreFragments = false;
  packet.identification = packet.fragmentOffset = 0;
  return isExtensionHeader(packet.protocol) ? walkExtensionHeaders(packet) : undefined;
}

const isExtensionHeader = (protocol: number): boolean =>
  protocol === NextHeader.HOP_BY_HOP ||
  protocol === NextHeader.ROUTING ||
  protocol === NextHeader.FRAGMENT ||
  protocol === NextHeader.DESTINATION_OPTIONS;

/** Moves `protocol` and `payload` beyond the extension headers, or to the data of a fragment. */
function walkExtensionHeaders(packet: IpPacket): IPv6Fault | undefined {
  const { bytes, end } = packet;
  let unknownOptions = 0;
  for (let headers = 0; isExtensionHeader(packet.protocol); headers++) {
    if (headers === MAX_EXTENSION_HEADERS) return 'ipv6 too many extension headers';
    const at = packet.payload;
    if (at + 8 > end) return 'ipv6 extension header';
    const { protocol } = packet;
    if (protocol === NextHeader.FRAGMENT) {
      readFragmentHeader(packet, at);
      if (packet.isFragment) return fragmentFault(packet);
      continue;
    }
    const next = at + (((bytes[at + 1] as number) + 1) << 3);
    if (next > end) return 'ipv6 extension header';
    if (protocol === NextHeader.ROUTING) {
      const type = bytes[at + 2];
      const segmentsLeft = bytes[at + 3];
      if (type === 0 || segmentsLeft !== 0) return 'ipv6 routing header';
    } else {
      // RFC 8200 §4.1: hop-by-hop options come first, or the packet is invalid.
      if (protocol === NextHeader.HOP_BY_HOP && headers > 0) return 'ipv6 extension header';
      unknownOptions = countUnknownOptions(bytes, at + 2, next, unknownOptions);
      if (unknownOptions > MAX_UNKNOWN_OPTIONS) return 'ipv6 option';
    }
    packet.protocol = bytes[at] as number;
    packet.protocolField = at;
    packet.payload = next;
  }
  return undefined;
}

const PAD_1 = 0;
const PAD_N = 1;
/** The bits of an option type with the action for hosts that do not support it: 0 to skip it. */
const OPTION_ACTION = 0xc0;

/**
 * Walks the options of a header (RFC 8200 §4.2).
 *
 * @returns `seen` plus the number of unknown options that may be skipped; Infinity if one must not be skipped, or
 *   the options do not end with their header.
 */
function countUnknownOptions(bytes: Uint8Array, start: number, end: number, seen: number): number {
  let unknown = seen;
  let at = start;
  while (at < end) {
    const type = bytes[at] as number;
    if (type === PAD_1) {
      at++;
      continue;
    }
    if (at + 2 > end) return Infinity;
    if (type !== PAD_N) {
      if ((type & OPTION_ACTION) !== 0) return Infinity;
      unknown++;
    }
    at += 2 + (bytes[at + 1] as number);
  }
  return at === end ? unknown : Infinity;
}

/**
 * Reads a fragment header (RFC 8200 §4.5). A fragment that is a whole datagram ("atomic", RFC 6946) is treated as
 * unfragmented.
 */
function readFragmentHeader(packet: IpPacket, at: number): void {
  const { bytes } = packet;
  const offsetAndFlag = readUint16(bytes, at + 2);
  packet.fragmentOffset = offsetAndFlag & 0xfff8;
  packet.moreFragments = (offsetAndFlag & 1) !== 0;
  packet.isFragment = packet.moreFragments || packet.fragmentOffset > 0;
  packet.identification = readUint32(bytes, at + 4);
  packet.protocol = bytes[at] as number;
  packet.protocolField = at;
  packet.payload = at + FRAGMENT_HEADER_SIZE;
}

/**
 * Returns the fault of a fragment: one without data, or one before the last whose size is not a multiple of 8, is
 * invalid (RFC 8200 §4.5), and so is a datagram longer than the largest payload.
 */
function fragmentFault(packet: IpPacket): IPv6Fault | undefined {
  const size = packet.end - packet.payload;
  if (size === 0 || (packet.moreFragments && (size & 7) !== 0)) return 'ipv6 fragment';
  return packet.fragmentOffset + size > MAX_IPV6_PAYLOAD ? 'ipv6 fragment' : undefined;
}

/**
 * Whether the first fragment of a datagram has all extension headers and the first bytes of the transport
 * header, as RFC 7112 §5 requires.
 */
export function hasWholeHeaderChain(fragment: IpPacket): boolean {
  const { bytes, end } = fragment;
  let { protocol, payload: at } = fragment;
  for (let headers = 0; headers <= MAX_EXTENSION_HEADERS; headers++) {
    if (protocol === NextHeader.NONE) return true;
    if (at + 8 > end) return false;
    // A fragment of a fragment is invalid.
    if (protocol === NextHeader.FRAGMENT) return false;
    if (!isExtensionHeader(protocol)) return true;
    protocol = bytes[at] as number;
    at += ((bytes[at + 1] as number) + 1) << 3;
  }
  return false;
}

/** Reads the address at `at`; the port is 0. */
export function fillIPv6Endpoint(endpoint: MutableIpEndpoint, bytes: Uint8Array, at: number): void {
  endpoint.a = readInt32(bytes, at);
  endpoint.b = readInt32(bytes, at + 4);
  endpoint.c = readInt32(bytes, at + 8);
  endpoint.d = readInt32(bytes, at + 12);
  endpoint.port = endpoint.scope = 0;
}

/**
 * Whether an address is `::` or `::1` (RFC 4291 §2.5), or an IPv4-mapped address, which must not appear on the wire and
 * would be treated as IPv4 endpoints (RFC 4942 §2.2).
 */
const isLocalOnly = ({ a, b, c, d }: IpEndpoint): boolean =>
  a === 0 && b === 0 && (c === MAPPED || (c === 0 && (d === 0 || d === 1)));

const isGroup = ({ a }: IpEndpoint): boolean => a >>> 24 === 0xff;

/**
 * Writes a header of 40 bytes with flow label 0.
 *
 * @param payloadSize bytes after this header.
 */
export function writeIPv6Header(
  bytes: Uint8Array,
  at: number,
  source: IpEndpoint,
  destination: IpEndpoint,
  protocol: number,
  payloadSize: number,
  hopLimit: number,
  trafficClass: number,
): void {
  writeUint32(bytes, at, 0x60000000 | (trafficClass << 20));
  writeUint16(bytes, at + 4, payloadSize);
  bytes[at + 6] = protocol;
  bytes[at + 7] = hopLimit;
  writeAddress(bytes, at + 8, source);
  writeAddress(bytes, at + 24, destination);
}

function writeAddress(bytes: Uint8Array, at: number, { a, b, c, d }: IpEndpoint): void {
  writeUint32(bytes, at, a);
  writeUint32(bytes, at + 4, b);
  writeUint32(bytes, at + 8, c);
  writeUint32(bytes, at + 12, d);
}

/** Writes the extension header of a fragment (RFC 8200 §4.5), 8 bytes. */
export function writeFragmentHeader(
  bytes: Uint8Array,
  at: number,
  protocol: number,
  identification: number,
  fragmentOffset: number,
  moreFragments: boolean,
): void {
  bytes[at] = protocol;
  bytes[at + 1] = 0;
  writeUint16(bytes, at + 2, fragmentOffset | (moreFragments ? 1 : 0));
  writeUint32(bytes, at + 4, identification);
}
