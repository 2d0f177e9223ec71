import {
  isIPv4Endpoint,
  type IpEndpoint,
  type DeviceTraits,
  type PacketOutput,
} from '@weir/base/ip';
import { FragmentedPacket } from './fragmentation.ts';
import { pseudoHeaderSum } from '../wire/checksum.ts';
import { writePartialChecksum, writeTransportChecksum } from '../wire/ip-packet.ts';
import { IPV4_HEADER_SIZE, MAX_IPV4_PACKET, writeIPv4Header } from '../wire/ipv4.ts';
import { IPV6_HEADER_SIZE, MAX_IPV6_PAYLOAD, writeIPv6Header } from '../wire/ipv6.ts';

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
