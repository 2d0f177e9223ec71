import { MAPPED, type IpEndpoint, type MutableIpEndpoint } from '@weir/base/ip';
import { readInt32, readUint16, writeUint16, writeUint32 } from '@weir/base/bytes';
import { complement, sumOf } from './checksum.ts';
import type { IpPacket } from './ip-packet.ts';

/** Size in bytes of a header without options, the only kind that this stack writes. */
export const IPV4_HEADER_SIZE = 20;
/** The largest value of the length field. */
export const MAX_IPV4_PACKET = 0xffff;

/** The reason why an IPv4 packet is dropped. */
export type IPv4Fault =
  | 'ipv4 truncated'
  | 'ipv4 header length'
  | 'ipv4 total length'
  | 'ipv4 checksum'
  | 'ipv4 ttl zero'
  | 'ipv4 source'
  | 'ipv4 destination'
  | 'ipv4 source is destination'
  | 'ipv4 fragment';

const DONT_FRAGMENT = 0x4000;
const MORE_FRAGMENTS = 0x2000;
const FRAGMENT_UNITS = 0x1fff;

/**
 * Reads and validates an IPv4 packet (RFC 791). Options are skipped: none matters to a host that does not forward
 * (RFC 1122 §3.2.1.8), and source routes are not followed.
 *
 * @returns `undefined` when `packet` is filled, or the reason why the packet has to be dropped.
 */
export function readIPv4(
  bytes: Uint8Array,
  start: number,
  end: number,
  packet: IpPacket,
): IPv4Fault | undefined {
  if (start + IPV4_HEADER_SIZE > end) return 'ipv4 truncated';
  const headerSize = ((bytes[start] as number) & 0x0f) << 2;
  if (headerSize < IPV4_HEADER_SIZE || start + headerSize > end) return 'ipv4 header length';
  const total = readUint16(bytes, start + 2);
  if (total < headerSize || start + total > end) return 'ipv4 total length';
  // The kernel always completes the header checksum, also in its own packets.
  if (sumOf(bytes, start, start + headerSize) !== 0xffff) return 'ipv4 checksum';
  const ttl = bytes[start + 8] as number;
  if (ttl === 0) return 'ipv4 ttl zero';
  const source = readInt32(bytes, start + 12);
  const destination = readInt32(bytes, start + 16);
  if (isLocalOnly(source) || isGroup(source)) return 'ipv4 source';
  if (isLocalOnly(destination)) return 'ipv4 destination';
  if (source === destination) return 'ipv4 source is destination';
  const fragment = readUint16(bytes, start + 6);
  const fragmentOffset = (fragment & FRAGMENT_UNITS) << 3;
  packet.moreFragments = (fragment & MORE_FRAGMENTS) !== 0;
  packet.isFragment = packet.moreFragments || fragmentOffset > 0;
  if (packet.isFragment) {
    const size = total - headerSize;
    // A fragment without data, or one before the last whose size is not a multiple of 8, is invalid (RFC 791), and
    // so is a datagram longer than the largest packet.
    if (size === 0 || (packet.moreFragments && (size & 7) !== 0)) return 'ipv4 fragment';
    if (fragmentOffset + size > MAX_IPV4_PACKET - IPV4_HEADER_SIZE) return 'ipv4 fragment';
  }
  packet.bytes = bytes;
  packet.start = start;
  packet.end = start + total;
  packet.version = 4;
  packet.protocol = bytes[start + 9] as number;
  packet.protocolField = start + 9;
  packet.payload = start + headerSize;
  packet.hopLimit = ttl;
  packet.trafficClass = bytes[start + 1] as number;
  packet.addresses = start + 12;
  packet.addressSize = 4;
  fillEndpoint(packet.source, source);
  fillEndpoint(packet.destination, destination);
  packet.toGroup = isGroup(destination);
  packet.dontFragment = (fragment & DONT_FRAGMENT) !== 0;
  packet.identification = readUint16(bytes, start + 4);
  packet.fragmentOffset = fragmentOffset;
  return undefined;
}

/** Reads the address at `at`, in mapped form; the port is 0. */
export const fillIPv4Endpoint = (
  endpoint: MutableIpEndpoint,
  bytes: Uint8Array,
  at: number,
): void => fillEndpoint(endpoint, readInt32(bytes, at));

function fillEndpoint(endpoint: MutableIpEndpoint, address: number): void {
  endpoint.a = endpoint.b = 0;
  endpoint.c = MAPPED;
  endpoint.d = address;
  endpoint.port = endpoint.scope = 0;
}

/** Whether an address is in 0.0.0.0/8 or 127.0.0.0/8, which never leave a host (RFC 1122 §3.2.1.3). */
function isLocalOnly(address: number): boolean {
  const first = address >>> 24;
  return first === 0 || first === 127;
}

/** Whether an address is in 224.0.0.0/4 or is 255.255.255.255: never a source (RFC 1122 §3.2.1.3). */
const isGroup = (address: number): boolean => address >>> 28 === 0xe || address === -1;

/**
 * Writes a header of 20 bytes with its checksum.
 *
 * @param total size of the packet in bytes, header included.
 * @param identification 16 bits; meaningless if `dontFragment` (RFC 6864 §4.1).
 */
export function writeIPv4Header(
  bytes: Uint8Array,
  at: number,
  source: IpEndpoint,
  destination: IpEndpoint,
  protocol: number,
  total: number,
  hopLimit: number,
  trafficClass: number,
  identification: number,
  dontFragment: boolean,
): void {
  bytes[at] = 0x45;
  bytes[at + 1] = trafficClass;
  writeUint16(bytes, at + 2, total);
  writeUint16(bytes, at + 4, identification);
  writeUint16(bytes, at + 6, dontFragment ? DONT_FRAGMENT : 0);
  bytes[at + 8] = hopLimit;
  bytes[at + 9] = protocol;
  writeUint32(bytes, at + 12, source.d);
  writeUint32(bytes, at + 16, destination.d);
  writeIPv4Checksum(bytes, at, IPV4_HEADER_SIZE);
}

/** Changes a copied header to that of a fragment, or of a packet of another length. */
export function rewriteIPv4Header(
  bytes: Uint8Array,
  at: number,
  headerSize: number,
  total: number,
  identification: number,
  fragmentOffset: number,
  moreFragments: boolean,
  dontFragment: boolean,
): void {
  writeUint16(bytes, at + 2, total);
  writeUint16(bytes, at + 4, identification);
  const flags = (moreFragments ? MORE_FRAGMENTS : 0) | (dontFragment ? DONT_FRAGMENT : 0);
  writeUint16(bytes, at + 6, flags | (fragmentOffset >> 3));
  writeIPv4Checksum(bytes, at, headerSize);
}

function writeIPv4Checksum(bytes: Uint8Array, at: number, headerSize: number): void {
  writeUint16(bytes, at + 10, 0);
  writeUint16(bytes, at + 10, complement(sumOf(bytes, at, at + headerSize)));
}
