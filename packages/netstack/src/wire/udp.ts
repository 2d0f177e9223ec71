import { readUint16, writeUint16 } from '@weir/base/bytes';
import { isTransportSumValid, type IpPacket, IpProtocol } from './ip-packet.ts';
import { isIPv4Endpoint, type IpEndpoint } from '@weir/base/ip';
import { IPV4_HEADER_SIZE, writeIPv4Header } from './ipv4.ts';
import { IPV6_HEADER_SIZE, writeIPv6Header } from './ipv6.ts';

export const UDP_HEADER_SIZE = 8;
/** The offset of the checksum in the header. */
export const UDP_CHECKSUM_OFFSET = 6;

/** The reason why a UDP datagram is dropped without any response. */
export type UdpFault =
  | 'udp truncated'
  | 'udp length'
  | 'udp checksum'
  | 'udp checksum missing'
  | 'udp port zero';

const NO_BYTES = new Uint8Array(0);

/** A UDP datagram, in place. One record is reused for all datagrams. */
export class UdpDatagram {
  /** The source port; 0 for no reply (RFC 768). */
  sourcePort = 0;
  destinationPort = 0;
  bytes: Uint8Array = NO_BYTES;
  payload = 0;
  payloadEnd = 0;
}

/**
 * Reads the UDP datagram in `packet`, and fills the ports of the packet's endpoints. The payload of a batch that the
 * device has merged (UDP segmentation offload) is that of all datagrams: see `UdpBatch`.
 *
 * Bytes after the length in the UDP header are ignored (the surplus area of RFC 9868).
 *
 * @param checksumVouched whether the device has verified the checksum, or it is partial.
 * @returns `undefined` when `datagram` is filled, or the reason why it has to be dropped.
 */
export function readUdpDatagram(
  packet: IpPacket,
  checksumVouched: boolean,
  datagram: UdpDatagram,
): UdpFault | undefined {
  const { bytes, payload: at, end } = packet;
  if (at + UDP_HEADER_SIZE > end) return 'udp truncated';
  const length = readUint16(bytes, at + 4);
  if (length < UDP_HEADER_SIZE || at + length > end) return 'udp length';
  if (!checksumVouched) {
    if (readUint16(bytes, at + UDP_CHECKSUM_OFFSET) === 0) {
      // No checksum (RFC 768); RFC 8200 §8.1 requires one in IPv6.
      if (packet.version === 6) return 'udp checksum missing';
    } else if (!isTransportSumValid(packet, at, at + length)) return 'udp checksum';
  }
  const destinationPort = readUint16(bytes, at + 2);
  if (destinationPort === 0) return 'udp port zero';
  datagram.sourcePort = packet.source.port = readUint16(bytes, at);
  datagram.destinationPort = packet.destination.port = destinationPort;
  datagram.bytes = bytes;
  datagram.payload = at + UDP_HEADER_SIZE;
  datagram.payloadEnd = at + length;
  return undefined;
}

/**
 * Writes a header of 8 bytes at `at` with the checksum 0: see `writeTransportChecksum`.
 *
 * @param payloadSize bytes of the payload, at most 65,527.
 */
export function writeUdpHeader(
  bytes: Uint8Array,
  at: number,
  sourcePort: number,
  destinationPort: number,
  payloadSize: number,
): void {
  writeUint16(bytes, at, sourcePort);
  writeUint16(bytes, at + 2, destinationPort);
  writeUint16(bytes, at + 4, UDP_HEADER_SIZE + payloadSize);
  writeUint16(bytes, at + UDP_CHECKSUM_OFFSET, 0);
}

/**
 * The datagrams of a batch that the device has merged (UDP segmentation offload): all of one size but for
 * the last. A datagram that was not merged is a batch of one.
 *
 *     batch.begin(datagram, segmentSize);
 *     while (batch.next()) use(datagram.bytes, batch.start, batch.end);
 */
export class UdpBatch {
  /** The start of the current datagram's payload. */
  start = 0;
  end = 0;
  #next = 0;
  #batchEnd = 0;
  #size = 0;
  #isEmpty = false;

  /** @param segmentSize bytes of payload in each datagram; 0 for a datagram that was not merged. */
  begin(datagram: UdpDatagram, segmentSize: number): void {
    this.#next = datagram.payload;
    this.#batchEnd = datagram.payloadEnd;
    this.#size = segmentSize === 0 ? Infinity : segmentSize;
    // An empty payload is a datagram as well.
    this.#isEmpty = datagram.payload === datagram.payloadEnd;
    this.start = this.end = datagram.payload;
  }

  /** Moves to the next datagram. @returns false after the last one. */
  next(): boolean {
    if (this.#isEmpty) {
      this.#isEmpty = false;
      return true;
    }
    if (this.#next >= this.#batchEnd) return false;
    this.start = this.#next;
    this.end = Math.min(this.#batchEnd, this.start + this.#size);
    this.#next = this.end;
    return true;
  }
}

const HOP_LIMIT = 64;

/**
 * Returns an IP packet with an empty UDP datagram, for an ICMP error about a datagram that was not kept. The receiver
 * of the error reads only the addresses and ports (RFC 1122 §4.1.3.3).
 */
export function emptyDatagram(from: IpEndpoint, to: IpEndpoint): Uint8Array {
  const isIPv4 = isIPv4Endpoint(to);
  const start = isIPv4 ? IPV4_HEADER_SIZE : IPV6_HEADER_SIZE;
  const size = start + UDP_HEADER_SIZE;
  const bytes = new Uint8Array(size);
  if (isIPv4) writeIPv4Header(bytes, 0, from, to, IpProtocol.UDP, size, HOP_LIMIT, 0, 0, false);
  else writeIPv6Header(bytes, 0, from, to, IpProtocol.UDP, UDP_HEADER_SIZE, HOP_LIMIT, 0);
  writeUdpHeader(bytes, start, from.port, to.port, 0);
  return bytes;
}
