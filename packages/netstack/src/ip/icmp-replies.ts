import type { IpEndpoint } from '@weir/base/ip';
import { hashAddress } from './address-hash.ts';
import {
  ICMP_ADDRESS_BUCKETS,
  ICMP_ERRORS_A_SECOND,
  ICMP_ERRORS_TO_ADDRESS_A_SECOND,
} from '../limits.ts';
import { RateLimit } from '@weir/io/pace';
import { writeUint32 } from '@weir/base/bytes';
import { pseudoHeaderSum } from '../wire/checksum.ts';
import {
  FRAGMENTATION_NEEDED,
  ICMP_CHECKSUM_OFFSET,
  ICMP_HEADER_SIZE,
  IcmpV4Type,
  IcmpV6Type,
  type IcmpMessage,
} from '../wire/icmp.ts';
import { IpProtocol, writeTransportChecksum, type IpPacket } from '../wire/ip-packet.ts';
import { IPV4_HEADER_SIZE, writeIPv4Header } from '../wire/ipv4.ts';
import { IPV6_HEADER_SIZE, MIN_IPV6_MTU, writeIPv6Header } from '../wire/ipv6.ts';

/** The reason why a packet was not delivered, which an ICMP message reports to its source. */
export type IcmpError =
  | 'no route'
  | 'host unreachable'
  | 'protocol unreachable'
  | 'port unreachable'
  | 'prohibited'
  | 'too big'
  | 'hop limit'
  | 'reassembly';

/** Type and code of each error in either version (RFC 792, RFC 1812 §5.2.7, RFC 4443 §3). */
const CODES: Record<IcmpError, readonly [number, number, number, number]> = {
  'no route': [IcmpV4Type.UNREACHABLE, 0, IcmpV6Type.UNREACHABLE, 0],
  'host unreachable': [IcmpV4Type.UNREACHABLE, 1, IcmpV6Type.UNREACHABLE, 3],
  'protocol unreachable': [IcmpV4Type.UNREACHABLE, 2, IcmpV6Type.PARAMETER_PROBLEM, 1],
  'port unreachable': [IcmpV4Type.UNREACHABLE, 3, IcmpV6Type.UNREACHABLE, 4],
  prohibited: [IcmpV4Type.UNREACHABLE, 13, IcmpV6Type.UNREACHABLE, 1],
  'too big': [IcmpV4Type.UNREACHABLE, FRAGMENTATION_NEEDED, IcmpV6Type.TOO_BIG, 0],
  'hop limit': [IcmpV4Type.TIME_EXCEEDED, 0, IcmpV6Type.TIME_EXCEEDED, 0],
  reassembly: [IcmpV4Type.TIME_EXCEEDED, 1, IcmpV6Type.TIME_EXCEEDED, 1],
};

/** Bytes of the largest error message (RFC 1812 §4.3.2.3; of ICMPv6 see RFC 4443 §2.4 (c)). */
const MAX_IPV4_ERROR = 576;
/** The traffic class of errors: internetwork control (RFC 1812 §4.3.2.5). */
const ERROR_TRAFFIC_CLASS = 0xc0;
const HOP_LIMIT = 64;

/** ICMPv6 types below this are errors (RFC 4443 §2.1). */
const FIRST_V6_QUERY = 128;
/** Types of ICMP that are queries and replies (RFC 1122 §3.2.2.6 to 3.2.2.9); all others count as errors. */
const V4_QUERIES = new Set([0, 8, 9, 10, 13, 14, 15, 16, 17, 18]);

/**
 * Whether a packet may cause an ICMP error at all (RFC 1122 §3.2.2, RFC 4443 §2.4 (e)): not if the packet is
 * an error message itself, was sent to a group, or is a fragment other than the first. Packets whose source is not a
 * single host were dropped before.
 */
export function mayCauseError(packet: IpPacket): boolean {
  if (packet.toGroup || packet.fragmentOffset > 0) return false;
  const type = packet.payload < packet.end ? (packet.bytes[packet.payload] as number) : -1;
  if (packet.protocol === IpProtocol.ICMP) return V4_QUERIES.has(type);
  if (packet.protocol === IpProtocol.ICMPV6) return type >= FIRST_V6_QUERY;
  return true;
}

/** Limits ICMP errors in total and to each address (RFC 1812 §4.3.2.8, RFC 4443 §2.4 (f)). */
export class IcmpErrorLimit {
  readonly #salt: number;
  readonly #total = new RateLimit(ICMP_ERRORS_A_SECOND);
  /** Limits by the hash of the address. */
  readonly #ofAddresses = Array.from(
    { length: ICMP_ADDRESS_BUCKETS },
    () => new RateLimit(ICMP_ERRORS_TO_ADDRESS_A_SECOND),
  );

  /** @param salt 32 random bits, so that a peer cannot choose addresses that share a limit. */
  constructor(salt: number) {
    this.#salt = salt;
  }

  /** Whether one more error may be sent to `to`. @param now milliseconds. */
  take(to: IpEndpoint, now: number): boolean {
    const ofAddress = this.#ofAddresses[hashAddress(to, this.#salt) % ICMP_ADDRESS_BUCKETS];
    if (ofAddress === undefined || !ofAddress.take(now)) return false;
    const isWithin = this.#total.take(now);
    if (!isWithin) ofAddress.giveBack();
    return isWithin;
  }
}

/**
 * Returns the size in bytes of the packet that `writeEchoReply` writes; it may exceed the MTU if the request was
 * fragmented.
 */
export const echoReplySize = (request: IcmpMessage): number =>
  ipHeaderSize(request.version) + request.end - request.start;

/**
 * Writes the reply to an echo request, an IP packet with its addresses exchanged (RFC 792, RFC 4443 §4.2).
 * The destination must be an own address, not a group.
 *
 * @returns the size of the packet.
 */
export function writeEchoReply(
  packet: IpPacket,
  request: IcmpMessage,
  bytes: Uint8Array,
  at: number,
): number {
  const size = echoReplySize(request);
  const { source, destination, trafficClass } = packet;
  writeIpHeader(packet.version, bytes, at, destination, source, size, trafficClass);
  const message = at + ipHeaderSize(packet.version);
  bytes.set(request.bytes.subarray(request.start, request.end), message);
  bytes[message] = packet.version === 4 ? IcmpV4Type.ECHO_REPLY : IcmpV6Type.ECHO_REPLY;
  writeIcmpChecksum(packet.version, bytes, at, message, at + size);
  return size;
}

/**
 * Returns the size in bytes of the packet that `writeIcmpError` writes, which quotes as much of the cause as permitted.
 */
export function icmpErrorSize(cause: IpPacket): number {
  const most = cause.version === 4 ? MAX_IPV4_ERROR : MIN_IPV6_MTU;
  const headers = ipHeaderSize(cause.version) + ICMP_HEADER_SIZE;
  return Math.min(most, headers + cause.end - cause.start);
}

/**
 * Writes an ICMP error about `cause` to its source, as an IP packet, after `mayCauseError` and
 * `IcmpErrorLimit.take` have permitted it.
 *
 * @param from the source of the error. On a TUN device it is the destination of `cause`: the host drops
 *   packets from a device whose source is an address of the host.
 * @param mtu the MTU of the next hop, for "too big" alone.
 * @returns the size of the packet.
 */
export function writeIcmpError(
  error: IcmpError,
  cause: IpPacket,
  from: IpEndpoint,
  mtu: number,
  bytes: Uint8Array,
  at: number,
): number {
  const { version } = cause;
  const size = icmpErrorSize(cause);
  const trafficClass = version === 4 ? ERROR_TRAFFIC_CLASS : 0;
  writeIpHeader(version, bytes, at, from, cause.source, size, trafficClass);
  const message = at + ipHeaderSize(version);
  const [typeV4, codeV4, typeV6, codeV6] = CODES[error];
  bytes[message] = version === 4 ? typeV4 : typeV6;
  bytes[message + 1] = version === 4 ? codeV4 : codeV6;
  writeUint32(bytes, message + 4, parameterOf(error, cause, mtu));
  const quote = message + ICMP_HEADER_SIZE;
  bytes.set(cause.bytes.subarray(cause.start, cause.start + at + size - quote), quote);
  writeIcmpChecksum(version, bytes, at, message, at + size);
  return size;
}

/** Returns the second word of the ICMP header. */
function parameterOf(error: IcmpError, cause: IpPacket, mtu: number): number {
  if (error === 'too big') return cause.version === 4 ? Math.min(mtu, 0xffff) : mtu;
  // The offset of the next-header field with the unknown protocol (RFC 4443 §3.4).
  const isPointer = error === 'protocol unreachable' && cause.version === 6;
  return isPointer ? cause.protocolField - cause.start : 0;
}

const ipHeaderSize = (version: 4 | 6): number =>
  version === 4 ? IPV4_HEADER_SIZE : IPV6_HEADER_SIZE;

function writeIpHeader(
  version: 4 | 6,
  bytes: Uint8Array,
  at: number,
  from: IpEndpoint,
  to: IpEndpoint,
  size: number,
  trafficClass: number,
): void {
  if (version === 4) {
    writeIPv4Header(bytes, at, from, to, IpProtocol.ICMP, size, HOP_LIMIT, trafficClass, 0, false);
  } else {
    const payload = size - IPV6_HEADER_SIZE;
    writeIPv6Header(bytes, at, from, to, IpProtocol.ICMPV6, payload, HOP_LIMIT, trafficClass);
  }
}

/** Writes the checksum; only that of ICMPv6 covers a pseudo-header. */
function writeIcmpChecksum(
  version: 4 | 6,
  bytes: Uint8Array,
  packet: number,
  message: number,
  end: number,
): void {
  const pseudoSum =
    version === 4 ? 0 : pseudoHeaderSum(bytes, packet + 8, 16, IpProtocol.ICMPV6, end - message);
  writeTransportChecksum(bytes, message, end, message + ICMP_CHECKSUM_OFFSET, pseudoSum);
}
