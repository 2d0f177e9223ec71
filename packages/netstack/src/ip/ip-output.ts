import {
  isIPv4Endpoint,
  type IpEndpoint,
  type DeviceTraits,
  type PacketOutput,
} from '@weir/base/ip';
import { pseudoHeaderSum } from '../wire/checksum.ts';
import { writePartialChecksum, writeTransportChecksum, IpPacket } from '../wire/ip-packet.ts';
import {
  IPV4_HEADER_SIZE,
  MAX_IPV4_PACKET,
  writeIPv4Header,
  rewriteIPv4Header,
} from '../wire/ipv4.ts';
import {
  IPV6_HEADER_SIZE,
  MAX_IPV6_PAYLOAD,
  writeIPv6Header,
  FRAGMENT_HEADER_SIZE,
  NextHeader,
  writeFragmentHeader,
} from '../wire/ipv6.ts';
import { writeUint16 } from '@weir/base/bytes';
import { readIpPacket } from '../wire/ip.ts';

/**
 * Splits an outgoing packet into fragments for an MTU (RFC 791, RFC 8200 §4.5). One object is reused for all
 * packets:
 *
 *     if (!fragmentation.begin(packet, mtu, identification)) return;
 *     for (let size; (size = fragmentation.nextSize()) > 0; ) fragmentation.write(into, at);
 */
export class Fragmentation {
  #packet: IpPacket | undefined;
  #identification = 0;
  #headerSize = 0;
  /** Bytes of data in each fragment but the last: a multiple of 8. */
  #dataSize = 0;
  /** Bytes of data in the fragments written so far. */
  #offset = 0;
  #total = 0;

  /**
   * Starts with `packet`, whose checksums are complete. Its record and bytes must not change until the last
   * fragment is written.
   *
   * @param mtu bytes of the largest fragment with its IP header.
   * @param identification 16 bits in IPv4, 32 in IPv6; not reused for this pair of addresses while fragments
   *   of an earlier packet may be in flight.
   * @returns false when the MTU has no room for data, or the packet has extension headers or options, which
   *   this stack does not send.
   */
  begin(packet: IpPacket, mtu: number, identification: number): boolean {
    const ipHeader = packet.payload - packet.start;
    const hasOwnHeader = ipHeader === (packet.version === 4 ? IPV4_HEADER_SIZE : IPV6_HEADER_SIZE);
    this.#headerSize = ipHeader + (packet.version === 4 ? 0 : FRAGMENT_HEADER_SIZE);
    this.#dataSize = (mtu - this.#headerSize) & ~7;
    this.#packet = packet;
    this.#identification = identification;
    this.#offset = 0;
    this.#total = packet.end - packet.payload;
    if (hasOwnHeader && this.#dataSize > 0) return true;
    this.#offset = this.#total;
    return false;
  }

  /** Returns the size in bytes of the fragment that `write` writes next; 0 after the last one. */
  nextSize(): number {
    const left = this.#total - this.#offset;
    return left === 0 ? 0 : this.#headerSize + Math.min(left, this.#dataSize);
  }

  /** Writes the next fragment, an IP packet, at `at`. */
  write(into: Uint8Array, at: number): void {
    const packet = this.#packet;
    const size = this.nextSize();
    if (packet === undefined || size === 0) return;
    const { bytes, start, payload } = packet;
    const headerSize = this.#headerSize;
    const offset = this.#offset;
    const dataSize = size - headerSize;
    const moreFragments = offset + dataSize < this.#total;
    into.set(bytes.subarray(start, payload), at);
    if (packet.version === 4) {
      rewriteIPv4Header(
        into,
        at,
        headerSize,
        size,
        this.#identification,
        offset,
        moreFragments,
        false,
      );
    } else {
      writeUint16(into, at + 4, size - IPV6_HEADER_SIZE);
      into[at + 6] = NextHeader.FRAGMENT;
      const header = at + IPV6_HEADER_SIZE;
      writeFragmentHeader(
        into,
        header,
        packet.protocol,
        this.#identification,
        offset,
        moreFragments,
      );
    }
    into.set(bytes.subarray(payload + offset, payload + offset + dataSize), at + headerSize);
    this.#offset += dataSize;
  }
}

/** A buffer for packets larger than their path MTU: they are written here, and sent in fragments. */
class FragmentedPacket {
  readonly buffer = new Uint8Array(IPV6_HEADER_SIZE + MAX_IPV6_PAYLOAD);
  readonly #fragmentation = new Fragmentation();
  readonly #packet = new IpPacket();

  /**
   * Sends the packet at offset 0 of `buffer`, whose checksums are complete.
   *
   * @param mtu bytes of a fragment.
   * @returns false when the packet is invalid, or the output had no room for all fragments: then the packet is
   *   lost.
   */
  send(length: number, mtu: number, identification: number, output: PacketOutput): boolean {
    const fragmentation = this.#fragmentation;
    if (readIpPacket(this.buffer, 0, length, this.#packet) !== undefined) return false;
    if (!fragmentation.begin(this.#packet, mtu, identification)) return false;
    for (;;) {
      const size = fragmentation.nextSize();
      if (size === 0) return true;
      const at = output.reserve(size);
      if (at < 0) return false;
      fragmentation.write(output.buffer, at);
      output.commit(size, 0, -1, 0);
    }
  }
}

/** TTL and hop limit of sent packets: the IANA's recommendation, and the default of Linux. */
const HOP_LIMIT = 64;

/** Returns the size in bytes of the IP header of packets to this address. */
export const ipHeaderSize = (remote: IpEndpoint): number =>
  isIPv4Endpoint(remote) ? IPV4_HEADER_SIZE : IPV6_HEADER_SIZE;

/** Returns the maximum size of transport header and payload in a packet to this address, in bytes. */
export const largestTransport = (remote: IpEndpoint): number =>
  isIPv4Endpoint(remote) ? MAX_IPV4_PACKET - IPV4_HEADER_SIZE : MAX_IPV6_PAYLOAD;

/**
 * Writes IP packets with a transport header and payload directly into the memory of the device:
 *
 *     const at = output.begin(remote, size, Infinity);
 *     if (at < 0) return; // no room
 *     write the transport header and the payload to output.buffer from `at`
 *     output.end(local, remote, IpProtocol.TCP, 16, 0, true);
 */
export class IpOutput {
  traits: DeviceTraits;
  /** Number of packets sent. */
  packets = 0;
  bytes = 0;
  /** Whether the device had no room for the last packet. */
  isFull = false;
  readonly #output: PacketOutput;
  #large: FragmentedPacket | undefined;
  #identification: number;
  #at = 0;
  #headerSize = 0;
  #size = 0;
  /** Bytes of each fragment of the current packet; 0 if it is not fragmented. */
  #fragmentSize = 0;

  /** @param identification 32 random bits, at which the numbering of packets begins. */
  constructor(output: PacketOutput, traits: DeviceTraits, identification: number) {
    this.#output = output;
    this.traits = traits;
    this.#identification = identification;
  }

  /** The buffer that the current packet is written to. */
  get buffer(): Uint8Array {
    return this.#fragmentSize > 0 ? this.#scratch.buffer : this.#output.buffer;
  }

  /**
   * Reserves room for a packet.
   *
   * @param size bytes of transport header and payload, at most `largestTransport`.
   * @param mtu a larger packet is sent in fragments; Infinity never fragments.
   * @returns the offset of the transport header in `buffer`; -1 when there is no room.
   */
  begin(remote: IpEndpoint, size: number, mtu: number): number {
    this.#headerSize = ipHeaderSize(remote);
    this.#size = size;
    this.#at = this.reserve(this.#headerSize + size, mtu);
    return this.isFull ? -1 : this.#at + this.#headerSize;
  }

  /**
   * Completes the packet with its IP header and the transport checksum, and sends it.
   *
   * @param field the offset of the checksum in the transport header.
   * @param segmentSize bytes of payload in each packet that the device splits it into; 0 for a single packet.
   * @param dontFragment for IPv4: DF is set, so that a router reports a packet that is too big.
   */
  end(
    local: IpEndpoint,
    remote: IpEndpoint,
    protocol: number,
    field: number,
    segmentSize: number,
    dontFragment: boolean,
  ): void {
    const { buffer } = this;
    const start = this.#at + this.#headerSize;
    const size = this.#size;
    const isIPv4 = this.#headerSize === IPV4_HEADER_SIZE;
    if (isIPv4) {
      this.#writeIPv4(buffer, local, remote, protocol, dontFragment);
    } else writeIPv6Header(buffer, this.#at, local, remote, protocol, size, HOP_LIMIT, 0);
    const addresses = this.#at + (isIPv4 ? 12 : 8);
    const sum = pseudoHeaderSum(buffer, addresses, isIPv4 ? 4 : 16, protocol, size);
    if (this.traits.checksumOffload && this.#fragmentSize === 0) {
      writePartialChecksum(buffer, start + field, sum);
      const length = this.#headerSize + size;
      this.#output.commit(length, segmentSize, this.#headerSize, field);
      this.#count(length);
    } else {
      writeTransportChecksum(buffer, start, start + size, start + field, sum);
      this.commit(this.#headerSize + size);
    }
  }

  /**
   * Reserves room for a packet that the caller writes completely, with its IP header and checksums.
   * @param mtu a larger packet is sent in fragments.
   * @returns its offset in `buffer`; -1 when there is no room.
   */
  reserve(bytes: number, mtu: number): number {
    this.#fragmentSize = bytes > mtu ? mtu : 0;
    const at = this.#fragmentSize > 0 ? 0 : this.#output.reserve(bytes);
    this.isFull = at < 0;
    return at;
  }

  /** Sends the packet for which `reserve` reserved room. */
  commit(length: number): void {
    const mtu = this.#fragmentSize;
    if (mtu === 0) this.#output.commit(length, 0, -1, 0);
    else if (!this.#scratch.send(length, mtu, this.#nextIdentification(), this.#output)) return;
    this.#count(length);
  }

  #writeIPv4(
    buffer: Uint8Array,
    local: IpEndpoint,
    remote: IpEndpoint,
    protocol: number,
    dontFragment: boolean,
  ): void {
    const total = this.#headerSize + this.#size;
    const id = this.#nextIdentification() & 0xffff;
    const at = this.#at;
    writeIPv4Header(buffer, at, local, remote, protocol, total, HOP_LIMIT, 0, id, dontFragment);
  }

  /** Returns a new identification, unique among packets whose fragments may be in flight (RFC 6864). */
  #nextIdentification(): number {
    this.#identification = (this.#identification + 1) >>> 0;
    return this.#identification;
  }

  #count(length: number): void {
    this.packets++;
    this.bytes += length;
  }

  get #scratch(): FragmentedPacket {
    this.#large ??= new FragmentedPacket();
    return this.#large;
  }
}
