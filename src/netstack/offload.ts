import { readUint32, writeUint16, writeUint32 } from './wire/bytes.ts';
import { complement, pseudoHeaderSum, sumOf } from './wire/checksum.ts';
import { Protocol, writeTransportChecksum, type IpPacket } from './wire/ip-packet.ts';
import { rewriteIPv4Header } from './wire/ipv4.ts';
import { IPV6_HEADER_SIZE } from './wire/ipv6.ts';
import { TCP_CHECKSUM_OFFSET, TcpFlag } from './wire/tcp.ts';
import { UDP_CHECKSUM_OFFSET, UDP_HEADER_SIZE, type UdpDatagram } from './wire/udp.ts';

/**
 * Completes a partial checksum, as a device does it for NEEDS_CSUM (virtio 1.2 §5.1.6.2): the field has
 * the sum of the pseudo-header.
 *
 * @param start where the checksum starts: the transport header.
 * @param end behind the packet.
 * @param field the offset of the checksum field.
 */
export function completeChecksum(
  bytes: Uint8Array,
  start: number,
  end: number,
  field: number,
): void {
  const checksum = complement(sumOf(bytes, start, end));
  writeUint16(bytes, field, checksum === 0 ? 0xffff : checksum);
}

/**
 * The datagrams of a batch that the device has merged (UDP segmentation offload): all of one size but for
 * the last. A datagram that was not merged is a batch of one.
 *
 *     batch.begin(datagram, segmentSize);
 *     while (batch.next()) use(datagram.bytes, batch.start, batch.end);
 */
export class UdpBatch {
  /** Where the payload of the present datagram lies. */
  start = 0;
  end = 0;
  #next = 0;
  #batchEnd = 0;
  #size = 0;
  #isEmpty = false;

  /** @param segmentSize bytes of payload in each datagram; 0 where nothing was merged. */
  begin(datagram: UdpDatagram, segmentSize: number): void {
    this.#next = datagram.payload;
    this.#batchEnd = datagram.payloadEnd;
    this.#size = segmentSize === 0 ? Infinity : segmentSize;
    // An empty datagram is one too.
    this.#isEmpty = datagram.payload === datagram.payloadEnd;
    this.start = this.end = datagram.payload;
  }

  /** Moves to the next datagram. @returns false behind the last one. */
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

const { FIN, PSH, CWR } = TcpFlag;

/**
 * Takes a large TCP segment or a batch of UDP datagrams apart into packets of their own, with complete
 * checksums, as a device with offloads does it: for a device or a peer without them. One object is reused
 * for all packets; see `Fragmentation` for how it is used.
 */
export class Segmentation {
  #packet: IpPacket | undefined;
  /** Bytes of the IP and the transport header, which each packet repeats. */
  #headerSize = 0;
  #segmentSize = 0;
  /** Bytes of the payload that are written. */
  #offset = 0;
  #total = 0;
  /** Packets that are written. */
  #count = 0;
  #isDone = true;

  /**
   * Starts with the segments of `packet`, whose record and bytes must stay as they are until the last one
   * is written; its transport checksum does not matter.
   *
   * @param transportHeaderSize bytes of the TCP header, or 8 for UDP.
   * @param segmentSize bytes of payload in each packet but the last.
   * @returns false when the packet is neither TCP nor UDP, or `segmentSize` is not positive.
   */
  begin(packet: IpPacket, transportHeaderSize: number, segmentSize: number): boolean {
    const { protocol } = packet;
    this.#packet = packet;
    this.#headerSize = packet.payload - packet.start + transportHeaderSize;
    this.#segmentSize = segmentSize;
    this.#offset = this.#count = 0;
    this.#total = packet.end - packet.start - this.#headerSize;
    this.#isDone =
      segmentSize <= 0 ||
      this.#total < 0 ||
      (protocol !== Protocol.TCP && protocol !== Protocol.UDP);
    return !this.#isDone;
  }

  /** Bytes of the packet that `write` would write; 0 behind the last one. */
  nextSize(): number {
    if (this.#isDone) return 0;
    return this.#headerSize + Math.min(this.#total - this.#offset, this.#segmentSize);
  }

  /** Writes the next packet at `at`. */
  write(into: Uint8Array, at: number): void {
    const packet = this.#packet;
    const size = this.nextSize();
    if (packet === undefined || size === 0) return;
    const { bytes, start, protocol, addressSize } = packet;
    const headerSize = this.#headerSize;
    const from = start + headerSize + this.#offset;
    const payloadSize = size - headerSize;
    into.set(bytes.subarray(start, start + headerSize), at);
    into.set(bytes.subarray(from, from + payloadSize), at + headerSize);
    this.#writeIpHeader(packet, into, at, size);
    const transport = at + packet.payload - start;
    const isLast = this.#offset + payloadSize === this.#total;
    if (protocol === Protocol.TCP) this.#adjustTcp(into, transport, isLast);
    else writeUint16(into, transport + 4, UDP_HEADER_SIZE + payloadSize);
    const field =
      transport + (protocol === Protocol.TCP ? TCP_CHECKSUM_OFFSET : UDP_CHECKSUM_OFFSET);
    const addresses = at + packet.addresses - start;
    const length = at + size - transport;
    const pseudoSum = pseudoHeaderSum(into, addresses, addressSize, protocol, length);
    writeTransportChecksum(into, transport, at + size, field, pseudoSum);
    this.#offset += payloadSize;
    this.#count++;
    this.#isDone = isLast;
  }

  #writeIpHeader(packet: IpPacket, into: Uint8Array, at: number, size: number): void {
    if (packet.version === 6) {
      writeUint16(into, at + 4, size - IPV6_HEADER_SIZE);
      return;
    }
    // Packets of their own have identifications of their own, as the kernel numbers them.
    const identification = (packet.identification + this.#count) & 0xffff;
    const headerSize = packet.payload - packet.start;
    rewriteIPv4Header(into, at, headerSize, size, identification, 0, false, packet.dontFragment);
  }

  /** FIN and PSH belong to the last segment, CWR to the first (RFC 3168 §6.1.2). */
  #adjustTcp(into: Uint8Array, at: number, isLast: boolean): void {
    writeUint32(into, at + 4, readUint32(into, at + 4) + this.#offset);
    let flags = into[at + 13] as number;
    if (!isLast) flags &= ~(FIN | PSH);
    if (this.#count > 0) flags &= ~CWR;
    into[at + 13] = flags;
  }
}
