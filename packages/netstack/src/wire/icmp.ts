import { blankEndpoint } from '@weir/base/ip';
import { readUint16, readUint32 } from '@weir/base/bytes';
import { sumOf } from './checksum.ts';
import { isTransportSumValid, IpProtocol, type IpPacket } from './ip-packet.ts';
import { fillIPv4Endpoint, IPV4_HEADER_SIZE } from './ipv4.ts';
import { fillIPv6Endpoint, FRAGMENT_HEADER_SIZE, IPV6_HEADER_SIZE, NextHeader } from './ipv6.ts';

export const ICMP_HEADER_SIZE = 8;
/** The offset of the checksum in the header. */
export const ICMP_CHECKSUM_OFFSET = 2;

/** The kinds of messages in both versions. */
type IcmpKind =
  | 'echo request'
  | 'echo reply'
  | 'unreachable'
  | 'too big'
  | 'time exceeded'
  | 'parameter problem'
  | 'other';

/** The reason why an ICMP message is dropped. */
export type IcmpFault = 'icmp truncated' | 'icmp checksum' | 'icmp version';

/** Types of ICMP (RFC 792). */
export const IcmpV4Type = {
  ECHO_REPLY: 0,
  UNREACHABLE: 3,
  ECHO_REQUEST: 8,
  TIME_EXCEEDED: 11,
  PARAMETER_PROBLEM: 12,
} as const;

/** Types of ICMPv6 (RFC 4443). */
export const IcmpV6Type = {
  UNREACHABLE: 1,
  TOO_BIG: 2,
  TIME_EXCEEDED: 3,
  PARAMETER_PROBLEM: 4,
  ECHO_REQUEST: 128,
  ECHO_REPLY: 129,
} as const;

/** The code of type 3 of ICMP that corresponds to "too big" of ICMPv6 (RFC 1191 §4). */
export const FRAGMENTATION_NEEDED = 4;

const NO_BYTES = new Uint8Array(0);

/** An ICMP or ICMPv6 message, in place. One record is reused for all messages. */
export class IcmpMessage {
  version: 4 | 6 = 4;
  kind: IcmpKind = 'other';
  type = 0;
  code = 0;
  bytes: Uint8Array = NO_BYTES;
  /** The offset of the message. */
  start = 0;
  /** The offset after the header of 8 bytes: the data of an echo, the quoted packet of an error. */
  payload = 0;
  end = 0;
  /** The identifier; only in echo messages, as is `sequence`. */
  identifier = 0;
  sequence = 0;
  /** The MTU of the next hop in "too big" messages; 0 from a router older than RFC 1191. */
  mtu = 0;
}

/**
 * Reads the ICMP message in `packet`. ICMPv6 in IPv4 packets, and ICMP in IPv6 packets, are rejected.
 *
 * @param checksumVouched whether the device has verified the checksum, or it is partial.
 * @returns `undefined` when `message` is filled, or the reason why it has to be dropped.
 */
export function readIcmp(
  packet: IpPacket,
  checksumVouched: boolean,
  message: IcmpMessage,
): IcmpFault | undefined {
  const { bytes, payload: at, end, version } = packet;
  if (packet.protocol !== (version === 4 ? IpProtocol.ICMP : IpProtocol.ICMPV6))
    return 'icmp version';
  if (at + ICMP_HEADER_SIZE > end) return 'icmp truncated';
  const isValid =
    checksumVouched ||
    (version === 4 ? sumOf(bytes, at, end) === 0xffff : isTransportSumValid(packet, at, end));
  if (!isValid) return 'icmp checksum';
  const type = bytes[at] as number;
  const code = bytes[at + 1] as number;
  const kind = kindOf(version, type, code);
  message.version = version;
  message.type = type;
  message.code = code;
  message.kind = kind;
  message.bytes = bytes;
  message.start = at;
  message.payload = at + ICMP_HEADER_SIZE;
  message.end = end;
  const isEcho = kind === 'echo request' || kind === 'echo reply';
  message.identifier = isEcho ? readUint16(bytes, at + 4) : 0;
  message.sequence = isEcho ? readUint16(bytes, at + 6) : 0;
  message.mtu = 0;
  if (kind === 'too big') {
    message.mtu = version === 4 ? readUint16(bytes, at + 6) : readUint32(bytes, at + 4);
  }
  return undefined;
}

const V4_KINDS: Readonly<Record<number, IcmpKind>> = {
  [IcmpV4Type.ECHO_REPLY]: 'echo reply',
  [IcmpV4Type.UNREACHABLE]: 'unreachable',
  [IcmpV4Type.ECHO_REQUEST]: 'echo request',
  [IcmpV4Type.TIME_EXCEEDED]: 'time exceeded',
  [IcmpV4Type.PARAMETER_PROBLEM]: 'parameter problem',
};

const V6_KINDS: Readonly<Record<number, IcmpKind>> = {
  [IcmpV6Type.UNREACHABLE]: 'unreachable',
  [IcmpV6Type.TOO_BIG]: 'too big',
  [IcmpV6Type.TIME_EXCEEDED]: 'time exceeded',
  [IcmpV6Type.PARAMETER_PROBLEM]: 'parameter problem',
  [IcmpV6Type.ECHO_REQUEST]: 'echo request',
  [IcmpV6Type.ECHO_REPLY]: 'echo reply',
};

function kindOf(version: 4 | 6, type: number, code: number): IcmpKind {
  if (version === 6) return V6_KINDS[type] ?? 'other';
  const isTooBig = type === IcmpV4Type.UNREACHABLE && code === FRAGMENTATION_NEEDED;
  return isTooBig ? 'too big' : (V4_KINDS[type] ?? 'other');
}

/** The packet that an ICMP error quotes: a packet of this stack, unless it is forged. */
export class IcmpQuote {
  version: 4 | 6 = 4;
  protocol = 0;
  /** The source of the quoted packet, which is this end. Ports are 0 for protocols other than TCP and UDP. */
  readonly source = blankEndpoint();
  readonly destination = blankEndpoint();
  /** The sequence number of a TCP segment; 0 for others. */
  sequence = 0;
  /** Size of the packet in bytes according to its header. */
  size = 0;
}

/** The least number of bytes after the quoted IP header (RFC 792). */
const QUOTED_TRANSPORT = 8;

/**
 * Reads the part of a packet that an error message quotes.
 *
 * @returns whether `quote` is filled: not if the quote is too short, or is of a fragment other than the first or of
 * another IP version.
 */
export function readQuote(message: IcmpMessage, quote: IcmpQuote): boolean {
  const { bytes, payload: at, end } = message;
  if (at >= end || (bytes[at] as number) >> 4 !== message.version) return false;
  const transport =
    message.version === 4
      ? readQuotedIPv4(bytes, at, end, quote)
      : readQuotedIPv6(bytes, at, end, quote);
  if (transport < 0 || transport + QUOTED_TRANSPORT > end) return false;
  const { protocol } = quote;
  quote.sequence = protocol === IpProtocol.TCP ? readUint32(bytes, transport + 4) : 0;
  if (protocol === IpProtocol.TCP || protocol === IpProtocol.UDP) {
    quote.source.port = readUint16(bytes, transport);
    quote.destination.port = readUint16(bytes, transport + 2);
  }
  return true;
}

/** Returns the offset of the transport header in a quoted IPv4 packet, or -1. */
function readQuotedIPv4(bytes: Uint8Array, at: number, end: number, quote: IcmpQuote): number {
  if (at + IPV4_HEADER_SIZE > end) return -1;
  const headerSize = ((bytes[at] as number) & 0x0f) << 2;
  if (headerSize < IPV4_HEADER_SIZE) return -1;
  const isLaterFragment = (readUint16(bytes, at + 6) & 0x1fff) !== 0;
  if (isLaterFragment) return -1;
  quote.version = 4;
  quote.size = readUint16(bytes, at + 2);
  quote.protocol = bytes[at + 9] as number;
  fillIPv4Endpoint(quote.source, bytes, at + 12);
  fillIPv4Endpoint(quote.destination, bytes, at + 16);
  return at + headerSize;
}

/**
 * Returns the offset of the transport header in a quoted IPv6 packet, or -1. The only extension header that this stack
 * sends is that of fragments.
 */
function readQuotedIPv6(bytes: Uint8Array, at: number, end: number, quote: IcmpQuote): number {
  const transport = at + IPV6_HEADER_SIZE;
  if (transport > end) return -1;
  quote.version = 6;
  quote.size = IPV6_HEADER_SIZE + readUint16(bytes, at + 4);
  quote.protocol = bytes[at + 6] as number;
  fillIPv6Endpoint(quote.source, bytes, at + 8);
  fillIPv6Endpoint(quote.destination, bytes, at + 24);
  if (quote.protocol !== NextHeader.FRAGMENT) return transport;
  if (transport + FRAGMENT_HEADER_SIZE > end) return -1;
  const isLaterFragment = (readUint16(bytes, transport + 2) & 0xfff8) !== 0;
  if (isLaterFragment) return -1;
  quote.protocol = bytes[transport] as number;
  return transport + FRAGMENT_HEADER_SIZE;
}
