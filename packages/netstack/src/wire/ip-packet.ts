import { blankEndpoint } from '@weir/base/ip';
import { writeUint16 } from '@weir/base/bytes';
import { complement, pseudoHeaderSum, sumOf } from './checksum.ts';

/** Protocol numbers (IANA), which are also the next-header values of IPv6. */
export const IpProtocol = {
  ICMP: 1,
  TCP: 6,
  UDP: 17,
  ICMPV6: 58,
} as const;

const NO_BYTES = new Uint8Array(0);

/** A validated IPv4 or IPv6 packet, in place. One record is reused for all packets. */
export class IpPacket {
  bytes: Uint8Array = NO_BYTES;
  /** The offset of the IP header. */
  start = 0;
  /** The end of the packet according to its length field, without trailing padding. */
  end = 0;
  version: 4 | 6 = 4;
  /** The transport protocol, after all extension headers that could be read. */
  protocol = 0;
  /** The offset of the byte with `protocol`. */
  protocolField = 0;
  /** The offset of the transport header; if `isFragment`, of the fragment's data. */
  payload = 0;
  /** The TTL or hop limit, at least 1. */
  hopLimit = 0;
  /** DSCP and, in the two lowest bits, ECN. */
  trafficClass = 0;
  /** The offset of the source address; the destination address follows it. */
  addresses = 0;
  /** The size of an address in bytes. */
  addressSize: 4 | 16 = 4;
  /**
   * The addresses, IPv4 in mapped form. The ports are 0 until `readTcpSegment` or `readUdpDatagram` fills them.
   */
  readonly source = blankEndpoint();
  readonly destination = blankEndpoint();
  /** Whether the destination is a multicast group or 255.255.255.255: no ICMP error is sent. */
  toGroup = false;
  /** The DF bit of IPv4; true for IPv6, which routers never fragment. */
  dontFragment = false;
  /** Whether the packet is a fragment of a datagram, for `FragmentReassembly`. */
  isFragment = false;
  /** The identification: 16 bits in IPv4, 32 in IPv6; 0 without a fragment header. */
  identification = 0;
  /** Bytes of the datagram before this fragment. */
  fragmentOffset = 0;
  moreFragments = false;
}

/** Returns the sum of the pseudo-header for `length` bytes of the packet's transport protocol. */
export const packetPseudoSum = (packet: IpPacket, length: number): number =>
  pseudoHeaderSum(packet.bytes, packet.addresses, packet.addressSize, packet.protocol, length);

/** Whether the checksum over the pseudo-header and all bytes from `start` to `end` is correct. */
export const isTransportSumValid = (packet: IpPacket, start: number, end: number): boolean =>
  sumOf(packet.bytes, start, end, packetPseudoSum(packet, end - start)) === 0xffff;

/**
 * Writes the checksum field of a transport header; its current value does not matter. A checksum of 0 is written
 * as 0xffff, which is equivalent: in UDP 0 means no checksum (RFC 768).
 *
 * @param field the offset of the checksum field.
 * @param pseudoSum the sum of the pseudo-header; 0 for ICMP, which has none.
 */
export function writeTransportChecksum(
  bytes: Uint8Array,
  start: number,
  end: number,
  field: number,
  pseudoSum: number,
): void {
  writeUint16(bytes, field, 0);
  const checksum = complement(sumOf(bytes, start, end, pseudoSum));
  writeUint16(bytes, field, checksum === 0 ? 0xffff : checksum);
}

/**
 * Writes a partial checksum, which the device completes: the sum of the pseudo-header, not complemented
 * (virtio's NEEDS_CSUM).
 */
export function writePartialChecksum(bytes: Uint8Array, field: number, pseudoSum: number): void {
  writeUint16(bytes, field, pseudoSum);
}
